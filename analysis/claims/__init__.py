"""The ten claims of the published study, judged on any run records."""

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from analysis import provenance, summaries
from analysis.claims.evidence import FOLLOW_UP, LEVEL, TIMED, TOKENS, gathered
from analysis.claims.judges import (
    ALPHA,
    ALPHA_BAND,
    CHANCE,
    CHANCE_BAND,
    MULTIPLE,
    SUPPORT_BAND,
    Claim,
    Verdict,
    judged,
)
from analysis.comparisons import FamilyResult
from analysis.frame import Runs
from analysis.plan import Plan
from analysis.table import Section, Table

RULES = (
    f"C1-C4: Δ > 0 and Holm's p ≤ {LEVEL} within the family that the plan declares; C4 for all six.",
    "C5: the two gains over softmax are larger than the four others. C4 and C5 speak of unmasked text; this table does"
    " not see masking, `mask_padding` in the `config` of a record tells.",
    f"C6: no data set with Δ > 0 and raw p ≤ {LEVEL}. It rests on the absence of significance, which is not equality:"
    " the intervals of the direct comparison say how large a gain remains possible.",
    f"C7: |mean learned α - {ALPHA}| < {ALPHA_BAND} on every data set; of the published means only that of cifar10 was"
    f" printed. C8: |mean accuracy - {CHANCE}| < {CHANCE_BAND} for all seven."
    f" C9: mean support within {SUPPORT_BAND} of ⌈ratio·n⌉/n, with n = 17 or 97 tokens.",
    f"C10: HAE's training loop takes at least {MULTIPLE} times the seconds of softmax's on {', '.join(TIMED)}. They are"
    " seconds of processor time where all those records hold them, for other work stretches those of a clock.",
    f"C6, C7 and C9 cover the four main data sets, and {FOLLOW_UP} where it has records. One counterexample decides"
    " against a claim; for it, everything that it covers must have a result.",
)


SHOWN = 3
"""Reasons for which no claim can be tested, before any others are only counted."""


def evaluate(runs: Runs, plan: Plan, families: Iterable[FamilyResult], pairs: Iterable[FamilyResult]) -> list[Claim]:
    """The ten claims in order, judged on `runs` and on what the plan's families and direct comparisons gave.

    The published column has `-` where results/published is not there. Raises InputError where it cannot be read.
    """
    return judged(gathered(runs, plan, families, pairs))


def table(runs: Runs, plan: Plan, families: Iterable[FamilyResult], pairs: Iterable[FamilyResult]) -> Table | None:
    """The claims with published and own figures side by side, the rules, and why a claim is not testable.

    None for records of something else, on which no claim can be tested.
    """
    claims = evaluate(runs, plan, families, pairs)
    if all(claim.verdict == "not testable" for claim in claims):
        return None
    counts = Counter(claim.verdict for claim in claims)
    used = runs.frame[runs.frame["dataset"].isin(TOKENS)]
    times = [f"Published times: GeForce GTX 1050. Ours: {provenance.machine(used)}."] if len(used) else []
    header = ("claim", "what it says", "published", "ours", "verdict")
    return Table(
        name="claims",
        title="Published claims",
        header=header,
        left=frozenset(header),
        sections=(
            Section(
                ", ".join(f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict)),
                tuple((claim.id, claim.statement, claim.published, claim.ours, claim.verdict) for claim in claims),
                tuple(f"{claim.id} is not testable: {'; '.join(claim.lacking)}." for claim in claims if claim.lacking),
            ),
        ),
        columns=("claim", "statement", "verdict", "published", "ours", "lacking"),
        values=tuple((c.id, c.statement, c.verdict, c.published, c.ours, "; ".join(c.lacking)) for c in claims),
        notes=(*RULES, *times),
        cautions=tuple(provenance.notices(used)),
    )


def warnings(runs: Runs, plan: Plan, families: Iterable[FamilyResult], pairs: Iterable[FamilyResult]) -> list[str]:
    """Why tables that compare with the published study are left out, for records of any of its data sets."""
    if not runs.datasets.intersection(TOKENS):
        return []
    said = []
    absent = summaries.missing()
    if absent:
        said.append(
            f"published figures: {', '.join(absent)} not found, so the tables of replication and claims lack what "
            "rests on them; install the package whole, or analyse in a checkout"
        )
    claims = evaluate(runs, plan, families, pairs)
    if all(claim.verdict == "not testable" for claim in claims):
        reasons = list(dict.fromkeys(reason for claim in claims for reason in claim.lacking))
        more = f"; and {len(reasons) - SHOWN} more reasons" if len(reasons) > SHOWN else ""
        said.append(f"published claims: none can be tested ({'; '.join(reasons[:SHOWN])}{more})")
    return said
