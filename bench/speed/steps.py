"""What a training step and an evaluation pass cost with each of the published normalizers, measured side by side."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from bench.measure import predict
from bench.model import CompactClassifier, Shape
from bench.speed.package import entmax_package
from bench.speed.plain import PlainClassifier, endless, topk_by_mask
from bench.speed.timing import Map, paired, setting, write
from bench.streams import stream
from bench.train import Schedule, batches, make_optimizer, step
from normalizers import build

SEVEN: dict[str, tuple[str, dict[str, object]]] = {
    "softmax": ("softmax", {}),
    "sparsemax": ("sparsemax", {}),
    "entmax15": ("entmax15", {}),
    "hae": ("hae", {}),
    "topk_0125": ("topk", {"ratio": 0.125}),
    "topk_025": ("topk", {"ratio": 0.25}),
    "topk_050": ("topk", {"ratio": 0.5}),
}
"""Label -> map and options."""
SHAPES = {
    17: Shape(inputs=49, tokens=16, classes=10, tokens_are_ids=False),  # Fashion-MNIST
    97: Shape(inputs=20_000, tokens=96, classes=20, tokens_are_ids=True),  # 20 Newsgroups
}
"""Row length n -> classifier."""
ROUNDS = {17: 15, 97: 7}
ROWS, BATCH = 1000, 96
SCHEDULE = Schedule(epochs=1, batch_size=BATCH, learning_rate=1e-3, weight_decay=1e-4, clip_norm=5.0)


@dataclass(frozen=True)
class Row:
    """One line of the table: milliseconds and ratios; None without the entmax package."""

    n: int
    normalizer: str
    step_ms: float
    step_to_softmax: float
    evaluation_ms: float
    evaluation_to_softmax: float
    plain_step_to_ours: float | None


HEADER = "|  n | normalizer | step ms | to softmax | evaluation ms | to softmax | plain step |"
RULE = "| -: | :--------- | ------: | ---------: | ------------: | ---------: | ---------: |"


def time_steps(out: Path, rounds: dict[int, int] = ROUNDS) -> None:
    """Time the seven normalizers in the classifier, print the table and write `out`/steps.csv and .md."""
    package = entmax_package()
    rows = []
    for n, shape in SHAPES.items():
        print(f"\n{HEADER}", flush=True)
        for row in _measure(n, shape, rounds[n], package):
            print(_line(row), flush=True)
            rows.append(row)
    legend = (
        f"{setting()}; medians of rounds ({', '.join(f'{count} at n = {n}' for n, count in rounds.items())}), each "
        f"beside softmax in this harness. Step: a batch of {BATCH}, forward, backward, clipping, AdamW. "
        f"Evaluation: a pass over {ROWS:,} rows. `plain step`: the time of the classifier as it is usually written "
        "(the entmax package or autograd, all rows of the last block, torch's own dropout, default AdamW, a "
        "DataLoader), over ours."
    )
    write(out / "steps", "What a training step costs", legend, rows, [HEADER, RULE, *map(_line, rows)])


def _measure(n: int, shape: Shape, rounds: int, package: dict[str, Map]) -> Iterator[Row]:
    x, y = _data(shape)
    softmax_step, softmax_pass = _ours("softmax", shape, x, y)
    for label, (name, options) in SEVEN.items():
        our_step, our_pass = _ours(label, shape, x, y)
        step_ms, step_ratio = paired(our_step, softmax_step, rounds)
        pass_ms, pass_ratio = paired(our_pass, softmax_pass, max(3, rounds // 2))
        usual = {
            "softmax": lambda z: torch.softmax(z, dim=-1),
            "topk": topk_by_mask(float(str(options.get("ratio", 1)))),
        }
        weights_of = (usual | package).get(name)
        plain = weights_of and 1 / paired(our_step, _plain(shape, weights_of, x, y), max(3, rounds // 2))[1]
        yield Row(n, label, step_ms, step_ratio, pass_ms, pass_ratio, plain)


def _data(shape: Shape) -> tuple[Tensor, Tensor]:
    generator = stream(0, "speed")
    if shape.tokens_are_ids:
        x = torch.randint(0, shape.inputs, (ROWS, shape.tokens), generator=generator)
    else:
        x = torch.rand(ROWS, shape.tokens, shape.inputs, generator=generator)
    return x, torch.randint(0, shape.classes, (ROWS,), generator=generator)


def _ours(label: str, shape: Shape, x: Tensor, y: Tensor) -> tuple[Callable[[], None], Callable[[], None]]:
    """(one training step, one evaluation pass) of the harness."""
    name, options = SEVEN[label]
    maps = [build(name, shape.heads, shape.width // shape.heads, **options) for _ in range(shape.blocks)]
    model = CompactClassifier(shape, maps)
    model.draw_dropout_from(stream(0, "dropout"))
    optimizer = make_optimizer(model, SCHEDULE)
    order = stream(0, "batches")
    full = (b for _ in itertools.count() for b in batches(ROWS, BATCH, order, x.device) if len(b) == BATCH)

    def train() -> None:
        model.train()
        batch = next(full)
        step(model, lambda rows: model(rows)[0], optimizer, x[batch], y[batch], SCHEDULE.clip_norm)

    def evaluate() -> None:
        predict(model, x, y)

    return train, evaluate


def _plain(shape: Shape, weights_of: Map, x: Tensor, y: Tensor) -> Callable[[], None]:
    model: nn.Module = PlainClassifier(shape, weights_of)
    optimizer = torch.optim.AdamW(model.parameters(), lr=SCHEDULE.learning_rate, weight_decay=SCHEDULE.weight_decay)
    loader = endless(x, y, BATCH)

    def train() -> None:
        model.train()
        step(model, model, optimizer, *next(loader), SCHEDULE.clip_norm)

    return train


def _line(row: Row) -> str:
    plain = "-" if row.plain_step_to_ours is None else f"{row.plain_step_to_ours:.2f}x"
    return (
        f"| {row.n:>2} | {row.normalizer:<10} | {row.step_ms:>7.1f} | {row.step_to_softmax:>9.2f}x "
        f"| {row.evaluation_ms:>13.1f} | {row.evaluation_to_softmax:>9.2f}x | {plain:>10} |"
    )
