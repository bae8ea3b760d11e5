"""The benchmarks: they run, write what they measured, and compare things that compute the same."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from bench.model import CompactClassifier, Shape
from bench.speed import maps, overhead, steps
from bench.speed.plain import PlainClassifier, endless, topk_by_mask
from bench.train import Schedule, make_optimizer, step
from normalizers import REGISTRY, build, topk_softmax
from tests.bench.helpers import TINY

SMALL = Shape(inputs=50, tokens=6, classes=3, tokens_are_ids=True, dropout=0.0)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_normalizer_is_timed_beside_softmax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "SHAPES", {5: (2, 3)})
    maps.time_maps(tmp_path / "speed", rounds=1)
    rows = read(tmp_path / "speed" / "normalizers.csv")
    assert [row["normalizer"] for row in rows] == list(REGISTRY)
    assert all(row["n"] == "5" for row in rows)
    assert all(float(row["forward_ms"]) > 0 and float(row["both_ms"]) > 0 for row in rows)


def test_the_seven_are_timed_in_the_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "SHAPES", {7: SMALL})
    monkeypatch.setattr(steps, "ROWS", 2 * steps.BATCH)
    steps.time_steps(tmp_path, {7: 1})
    rows = read(tmp_path / "steps.csv")
    assert [row["normalizer"] for row in rows] == list(steps.SEVEN)
    assert all(float(row["step_ms"]) > 0 and float(row["plain_step_to_ours"]) > 0 for row in rows)
    assert (tmp_path / "steps.md").read_text(encoding="utf-8").count("\n|") == len(rows) + 2


Sweep = Callable[..., tuple[float, list[overhead.Metrics]]]


def sweeps(seconds: Mapping[tuple[str, ...], float], workers: int = 1) -> tuple[Sweep, list[tuple[str, ...]]]:
    """A stand-in for `overhead._sweep`, and the words it is asked for, of which the first says how many workers.

    A sweep takes 5 s to start and, for each run of a worker, the `seconds` of its other words. Of those of a run the
    training takes 1 s, the pass over the test rows 0.25 s, and the whole run 1.5 s.
    """
    asked: list[tuple[str, ...]] = []

    def sweep(runs: int, *words: str) -> tuple[float, list[overhead.Metrics]]:
        asked.append(words)
        metrics: overhead.Metrics = {"train_seconds": 1.0, "inference_seconds": 0.25, "wall_seconds": 1.5}
        return 5.0 + runs / workers * seconds[words[1:]], [metrics] * runs

    return sweep, asked


def test_the_overhead_is_what_training_and_evaluation_leave_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, asked = sweeps({(): 2.0})
    monkeypatch.setattr(overhead, "_sweep", sweep)
    overhead.time_overhead(tmp_path)
    assert asked == [("parallel=1",)] * 2
    expected = {"start_up": "5.0000", "run": "2.0000", "measured": "1.2500", "harness": "0.7500", "share": "0.3750"}
    assert read(tmp_path / "overhead.csv") == [expected]


def test_a_launcher_costs_what_lies_beyond_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep, asked = sweeps({(): 2.0, overhead.LAUNCHERS["ray"]: 3.5}, workers=overhead.WORKERS)
    monkeypatch.setattr(overhead, "_sweep", sweep)
    monkeypatch.setattr(overhead, "LAUNCHERS", {name: overhead.LAUNCHERS[name] for name in ("pool", "ray")})
    overhead.time_launchers(tmp_path)
    assert {words[0] for words in asked} == {f"parallel={overhead.WORKERS}"}
    names = ("launcher", "start_up", "run", "itself", "beyond")
    assert [tuple(row[name] for name in names) for row in read(tmp_path / "launchers.csv")] == [
        ("pool", "5.0000", "2.0000", "1.5000", "0.5000"),
        ("ray", "5.0000", "3.5000", "1.5000", "2.0000"),  # the run itself is that of the pool, whose workers are warm
    ]


@pytest.mark.slow
def test_a_timed_sweep_is_one_whose_runs_are_all_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "SWEEP", (*overhead.SWEEP, *TINY))
    seconds, metrics = overhead._sweep(2, "parallel=1")
    assert len(metrics) == 2
    assert sum(run["wall_seconds"] or 0.0 for run in metrics) < seconds


def test_what_watching_costs_is_told_beside_not_watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep, asked = sweeps({(): 2.0, overhead.TRACKERS["W&B, disabled"]: 2.5, overhead.TRACKERS["W&B, offline"]: 3.0})
    monkeypatch.setattr(overhead, "_sweep", sweep)
    overhead.time_tracking(tmp_path)
    assert [words[0] for words in asked] == ["parallel=1"] * 6  # else a run more is a part of a worker's time
    assert "parallel=1` with" in (tmp_path / "tracking.md").read_text(encoding="utf-8")
    assert [(row["tracker"], row["run"], row["more"], row["share"]) for row in read(tmp_path / "tracking.csv")] == [
        ("none", "2.0000", "0.0000", "0.0000"),
        ("W&B, disabled", "2.5000", "0.5000", "0.2500"),
        ("W&B, offline", "3.0000", "1.0000", "0.5000"),
    ]


@pytest.mark.parametrize("label", steps.SEVEN)
def test_the_plain_classifier_is_the_same_function(label: str) -> None:
    name, options = steps.SEVEN[label]
    normalizers = [build(name, SMALL.heads, 16, **options) for _ in range(SMALL.blocks)]
    ours = CompactClassifier(SMALL, normalizers)
    plain = PlainClassifier(SMALL, lambda scores: normalizers[0](scores, None, None))
    copy_weights(ours, plain)
    x = torch.randint(0, 50, (8, 6), generator=torch.Generator().manual_seed(0))
    y = torch.arange(8) % 3
    schedule = Schedule(epochs=1, batch_size=8, learning_rate=1e-3, weight_decay=0.0, clip_norm=5.0)
    losses = []
    for model, forward in ((ours, lambda rows: ours(rows)[0]), (plain, plain)):
        loss, norm = step(model, forward, make_optimizer(model, schedule), x, y, schedule.clip_norm)
        losses.append((loss, norm if name != "hae" else loss))  # each of our two blocks has an alpha of its own
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-5, atol=1e-6)


def copy_weights(ours: CompactClassifier, plain: PlainClassifier) -> None:
    for name in ("embedding", "head"):
        getattr(plain, name).load_state_dict(getattr(ours, name).state_dict())
    with torch.no_grad():
        plain.cls.copy_(ours.cls)
        plain.positions.copy_(ours.positions)
        for block, copy in zip(ours.blocks, plain.blocks, strict=True):
            three = block.attention.query_key_value
            for layer, weight, bias in zip(
                (copy.query, copy.key, copy.value), three.weight.chunk(3), three.bias.chunk(3), strict=True
            ):
                layer.weight.copy_(weight)
                layer.bias.copy_(bias)
            pairs = [(block.attention.output, copy.output), (block.norm1, copy.norm1), (block.norm2, copy.norm2)]
            pairs += [(block.expand, copy.feed_forward[0]), (block.contract, copy.feed_forward[3])]
            for source, target in pairs:
                target.load_state_dict(source.state_dict())


def test_topk_by_mask_is_topk_softmax() -> None:
    scores = torch.randn(4, 17, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(topk_by_mask(0.25)(scores), topk_softmax(scores, ratio=0.25))


def test_batches_of_the_loader_go_on_after_an_epoch() -> None:
    x, y = torch.arange(10).unsqueeze(1), torch.zeros(10)
    loader = endless(x, y, 4)
    seen = [next(loader)[0] for _ in range(4)]  # two whole batches an epoch
    assert {len(batch) for batch in seen} == {4}
    assert len(set(torch.cat(seen[:2]).flatten().tolist())) == 8
