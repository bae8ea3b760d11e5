"""The runtime table: seconds of training and inference, and what they are times those of the control."""

import numpy as np
import pandas as pd

from analysis import comparisons, names, provenance
from analysis.frame import Runs
from analysis.matched import matched, refusal
from analysis.paired import NAN, mean_sd, t_interval
from analysis.plan import Plan
from analysis.table import NONE, TEXT, Row, Section, Table, Value, blocks, fixed, spread

Ratio = tuple[float, float, float]
NO_RATIO: Ratio = (NAN, NAN, NAN)
KINDS = {"train_seconds": "training", "train_cpu_seconds": "training CPU", "inference_seconds": "inference"}
PARTS = ("mean", "sd", "ratio", "ratio_low", "ratio_high")
CPU = "train_cpu_seconds"
DIGITS = {"train_seconds": 2, "train_cpu_seconds": 2, "inference_seconds": 3}


def runtime(runs: Runs, plan: Plan) -> Table:
    """Seconds (mean ± sd) of the training loop and of one pass over the test rows, and their ratios to the control.

    Both as a clock runs; the training loop's also as the processor worked on it, where records hold that.
    """
    kinds = [kind for kind in KINDS if runs.frame[kind].notna().any()]
    rows: list[Row] = []
    values: list[tuple[Value, ...]] = []
    refused: list[str] = []
    for dataset, normalizer, cell in comparisons.cells(runs, plan):
        if cell.empty:
            continue
        reason = refusal(runs, plan, dataset, normalizer, plan.control)
        if reason and runs.completed(dataset, plan.control):
            refused.append(f"No ratio of {dataset} {names.display(normalizer, plan.names)}: {reason}.")
        shown: list[str] = []
        numbers: list[float] = []
        for kind in kinds:
            seconds = mean_sd(cell[kind])
            ratio = time_ratio(runs, plan, dataset, normalizer, kind)
            shown += [spread(*seconds, DIGITS[kind]), _ratio(ratio, normalizer == plan.control)]
            numbers += [*seconds, *ratio]
        rows.append((dataset, names.display(normalizer, plan.names), *shown, str(len(cell))))
        values.append((dataset, normalizer, len(cell), *numbers))
    control, percent = names.display(plan.control, plan.names), plan.percent
    return Table(
        name="runtime",
        title="Runtime",
        header=("data set", "normalizer", *(f"{KINDS[kind]} {what}" for kind in kinds for what in ("s", "ratio")), "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=("dataset", "normalizer", "n", *(f"{kind}_{part}" for kind in kinds for part in PARTS)),
        values=tuple(values),
        # Seconds of a clock say little where those of the processor are known.
        wide=frozenset({"training s", "training ratio"}) if CPU in kinds else frozenset(),
        notes=(
            "Mean ± standard deviation over n seeds: seconds of the training loop and of one pass over the test rows."
            + (
                " CPU: seconds of processor time, which other work on the machine hardly changes."
                if CPU in kinds
                else ""
            ),
            f"Ratio: geometric mean over matched seeds of the seconds over those of {control}, with the {percent} t "
            f"interval of the logarithms; {NONE} where there is none.",
            *_total(runs.frame),
            *refused,
            f"Measured on: {provenance.machine(runs.frame)}.",
        ),
        cautions=tuple(provenance.notices(runs.frame)),
    )


def _total(frame: pd.DataFrame) -> list[str]:
    """What the whole sweep cost, where every run says it."""
    if frame[CPU].isna().any():
        return []
    minutes = frame[CPU].sum() / 60
    return [f"The {len(frame)} training loops together: {minutes:.1f} minutes of processor time."]


def time_ratio(runs: Runs, plan: Plan, dataset: str, normalizer: str, kind: str) -> Ratio:
    """Seconds of `kind` over those of the plan's control, see `paired_ratio`; NaN where a comparison is refused."""
    if refusal(runs, plan, dataset, normalizer, plan.control):
        return NO_RATIO
    a, b = matched(runs, dataset, normalizer, plan.control, [kind])
    return paired_ratio(a[kind], b[kind], plan.confidence)


def paired_ratio(seconds: pd.Series, control: pd.Series, confidence: float) -> Ratio:
    """Geometric mean of `seconds / control`, both of shape (n,) and matched, and its t interval.

    NaN where a time is not recorded or not above 0.
    """
    x, y = seconds.to_numpy(dtype=np.float64), control.to_numpy(dtype=np.float64)
    if not x.size or not (x > 0).all() or not (y > 0).all():
        return NO_RATIO
    logarithms = np.log(x) - np.log(y)
    low, high = t_interval(logarithms, confidence)
    return float(np.exp(mean_sd(logarithms)[0])), float(np.exp(low)), float(np.exp(high))


def _ratio(ratio: Ratio, is_control: bool) -> str:
    """`4.17x [3.98, 4.37]`; the control has no interval around its 1."""
    mean, low, high = ratio
    if is_control or np.isnan(low):
        return fixed(mean, 2, "x")
    return f"{fixed(mean, 2, 'x')} [{fixed(low, 2)}, {fixed(high, 2)}]"
