"""What W&B is told of a run, by the names that panels are made of: the same while it runs and from its record."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omegaconf import OmegaConf

from bench import ROOT
from bench.records import Record
from bench.wandb_limits import TAG, run_id, shortened

BY_LENGTH = "by_length"
"""What a record says of each length that a model was tested at."""
PLANS = ROOT / "conf" / "analysis"
HELD_OUT = {"validation_loss": "validation/loss", "validation_accuracy": "validation/accuracy"}
"""Curves of rows held out of the training split; all other curves of single numbers are of the training."""


def described(content: Mapping[str, Any], tags: Sequence[str]) -> dict[str, Any]:
    """Arguments of `wandb.init` that say which run this is; `content` is a record, or `bench.run.heading`.

    The id is the fingerprint, so that what is sent twice is one run; the group holds the other seeds of its cell.
    Names longer than W&B takes are shortened.
    """
    dataset, normalizer = content["dataset"], content["normalizer"]
    words = [dataset, normalizer, *tags, *(f"family-{name}" for name in families(dataset, tags))]
    identity = {name: content[name] for name in ("cell", "setting")}
    return {
        "id": run_id(content["fingerprint"]),
        "name": shortened(f"{dataset}/{normalizer}/seed={content['seed']}"),
        "group": shortened(f"{dataset}/{normalizer} {content['cell']}"),
        "job_type": "run",
        "tags": list(dict.fromkeys(shortened(word, TAG) for word in words)),
        "config": {**content["config"], **identity, "provenance": content["provenance"]},
    }


def families(dataset: str, tags: Sequence[str]) -> list[str]:
    """The families of tests that hold `dataset` in the analyses named as one of `tags`, as experiments are."""
    paths = [path for path in sorted(PLANS.glob("*.yaml")) if path.stem in tags]
    found = [OmegaConf.select(OmegaConf.load(path), "families", default={}) for path in paths]
    return [str(name) for plan in found for name, family in plan.items() if dataset in family.datasets]


def epoch_values(entries: Mapping[str, Any], steps: int | None) -> dict[str, float]:
    """One epoch of a record's curves by the names of panels; `steps` is the number of batches, where it is known."""
    values: dict[str, float] = {}
    for name, entry in entries.items():
        values |= by_head(name, entry) if isinstance(entry, list) else {HELD_OUT.get(name, f"train/{name}"): entry}
    if steps and "seconds" in entries:
        values["train/step_seconds"] = entries["seconds"] / steps
    return values


def steps(train: Mapping[str, Any], rows: int | None) -> int | None:
    """Steps of one epoch over `rows` rows by the configuration `train`; None where either does not say."""
    if not rows or "batch_size" not in train:
        return None
    return int(train.get("passes", 1) * math.ceil(rows / (train["batch_size"] or rows)))


def history(record: Record) -> Iterator[tuple[int, dict[str, float]]]:
    """Each epoch of the curves of `record` with its values."""
    curves = {name: entries for name, entries in record.curves.items() if name != "epoch"}
    number = steps(record.config.get("train", {}), record.config.get("dataset", {}).get("train_limit"))
    for place, epoch in enumerate(record.curves.get("epoch", [])):
        yield epoch, epoch_values({name: entries[place] for name, entries in curves.items()}, number)


def summary(record: Record) -> dict[str, Any]:
    """What a run came to: its metrics, attention per block and head, status, notes, and its error where it has one."""
    values: dict[str, Any] = {name: value for name, value in record.metrics.items() if value is not None}
    for name, per_block in record.attention.items():
        if name == BY_LENGTH:
            for part in ("exact_match", "token_accuracy"):
                values |= {
                    f"{part}/{length}": share
                    for length, share in zip(per_block["length"], per_block[part], strict=True)
                }
        if not isinstance(per_block, list):  # a picture or numbers per length, not a number per head
            continue
        # Learned parameters, which have curves, go by their own name; the rest is measured of the attention rows.
        values |= by_head(name if name in record.curves else f"attention/{name}", per_block)
    values |= {"status": record.status, "notes": record.notes}
    if record.error:
        values["error"] = f"{record.error['type']}: {record.error['message']}"
    return values


def by_head(name: str, per_block: list[list[float]]) -> dict[str, float]:
    """Values (blocks, heads) by names such as `alpha/block1/head2`."""
    return {
        f"{name}/block{block}/head{head}": value
        for block, heads in enumerate(per_block, start=1)
        for head, value in enumerate(heads, start=1)
    }
