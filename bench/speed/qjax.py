"""`python -m bench qjax`: the qjax package beside this project, in what both compute and in what a training step costs.

qjax's `tsallis_entmax` is α-entmax with α = q. Its gradients are exact as ours are, so both are compared: weights,
the product of a random cotangent with ∂p/∂z, and that with ∂p/∂q, on the same random rows. A step is one of the
attention-pooling study: qjax's own attention, compiled by jax, beside the harness's step.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.allocator import keep_memory
from bench.attention_model import Sizes
from bench.pooling import AttentionPooling
from bench.schema import ConfigError
from bench.speed.timing import paired, setting, write
from bench.streams import global_stream, stream
from bench.train import Schedule, make_optimizer, step
from normalizers import build, entmax

LENGTHS = (4, 8, 16, 32)
INDICES = (1.25, 1.5, 1.75, 2.0, 2.4)
ROWS, ROUNDS = 512, 51
BLOCK = 20
"""Steps that are timed together, as training takes them: one after the other."""
SCHEDULE = Schedule(epochs=1, batch_size=None, learning_rate=5e-3, weight_decay=0.0, clip_norm=None)
LOW, HIGH = 1.1, 2.8
Step = Callable[[], Any]


@dataclass(frozen=True)
class Agreement:
    """Largest absolute differences over all rows."""

    dtype: str
    q: float
    weights: float
    scores_gradient: float
    q_gradient: float


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a step of ours, and the time of qjax's over it."""

    tokens: int
    q: str
    step_ms: float
    qjax_to_ours: float


def compare(out: Path, rounds: int = ROUNDS) -> int:
    """Print both comparisons and write them into `out`/qjax*.csv and .md; returns the exit code.

    Raises ConfigError where the package is not installed.
    """
    load()
    torch.set_num_threads(1)
    keep_memory()
    agreements = [found for dtype in ("float32", "float64") for found in agreement(dtype)]
    table = ["| dtype   |    q | weights | ∂/∂scores | ∂/∂q    |", "| :------ | ---: | ------: | --------: | ------: |"]
    table += [
        f"| {row.dtype} | {row.q:.2f} | {row.weights:.1e} | {row.scores_gradient:>9.1e} | {row.q_gradient:.1e} |"
        for row in agreements
    ]
    legend = (
        f"Largest absolute difference between this project's entmax and qjax's `tsallis_entmax`, over {ROWS} rows of "
        f"each of {', '.join(map(str, LENGTHS))} normal scores times 3: weights, and products of a normal cotangent."
    )
    write(out / "qjax", "This project and qjax compute the same", legend, agreements, table)
    costs = list(cost(rounds))
    table = ["| tokens | q       | step ms | qjax to ours |", "| -----: | :------ | ------: | -----------: |"]
    table += [f"| {row.tokens:>6} | {row.q:<7} | {row.step_ms:>7.2f} | {row.qjax_to_ours:>11.2f}x |" for row in costs]
    legend = (
        f"{setting()}; medians of {rounds} rounds of {BLOCK} steps, each beside the other. A step is one of full-batch "
        f"Adam on {ROWS} rows of the attention-pooling study; qjax's is compiled by jax (`jit`), with one thread, "
        "compiling left aside."
    )
    write(out / "qjax_steps", "What a step of attention pooling costs beside qjax", legend, costs, table)
    return 0


def load() -> tuple[Any, Any]:
    """jax, with one thread where it is not loaded yet, and qjax. Raises ConfigError where they are not installed."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax
        import qjax.nn
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed; install it with: pip install 'normbench[qjax]'") from error
    return jax, qjax


def agreement(dtype: str) -> Iterator[Agreement]:
    """How far both are apart in `dtype`, for each of `INDICES`."""
    jax, qjax = load()
    for q in INDICES:
        worst = np.zeros(3)
        for length in LENGTHS:
            random = np.random.default_rng([length, int(100 * q)])
            scores, cotangent = (random.standard_normal((2, ROWS, length)) * [[[3]], [[1]]]).astype(dtype)
            ours = _ours(scores, cotangent, q)
            before = jax.config.jax_enable_x64
            jax.config.update("jax_enable_x64", dtype == "float64")  # qjax computes in jax's widest float
            try:
                weights, pullback = jax.vjp(
                    lambda z, index: qjax.tsallis_entmax(z, index), scores, scores.dtype.type(q)
                )
                theirs = (weights, *pullback(jax.numpy.asarray(cotangent)))
            finally:
                jax.config.update("jax_enable_x64", before)
            differences = [np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in zip(ours, theirs, strict=True)]
            worst = np.maximum(worst, differences)
        yield Agreement(dtype, q, *map(float, worst))


def _ours(scores: Any, cotangent: Any, q: float) -> tuple[Any, Any, Any]:
    z = torch.from_numpy(scores).requires_grad_()
    index = torch.tensor(q, dtype=z.dtype, requires_grad=True)
    weights = entmax(z, index)
    by_scores, by_index = torch.autograd.grad(weights, (z, index), torch.from_numpy(cotangent))
    return weights.detach().numpy(), by_scores.numpy(), by_index.numpy()


def cost(rounds: int) -> Iterator[Cost]:
    """A step of both at each length, with a learned q and with q = 2."""
    for length in LENGTHS:
        for q, name in (("learned", "bounded_entmax"), ("2", "sparsemax")):
            model, x, y = start(name, length)
            ours, theirs = our_step(model, x, y), qjax_step(model, x, y)
            for _ in range(3):  # compiles
                theirs()
            milliseconds, ratio = paired(_block(ours), _block(theirs), rounds)
            yield Cost(length, q, milliseconds / BLOCK, 1 / ratio)


def _block(call: Step) -> Step:
    def several() -> None:
        for _ in range(BLOCK):
            call()

    return several


def start(name: str, length: int) -> tuple[AttentionPooling, torch.Tensor, torch.Tensor]:
    """A model with the normalizer `name`, and rows with classes."""
    sizes = Sizes(inputs=16, tokens=length, classes=4, tokens_are_ids=False, width=16, heads=1, blocks=1)
    with global_stream(0, "weights"):
        model = AttentionPooling(sizes, [build(name, 1)])
    generator = stream(0, "speed")
    x = torch.randn(ROWS, length, 16, generator=generator)
    return model, x, torch.randint(0, 4, (ROWS,), generator=generator)


def our_step(model: AttentionPooling, x: torch.Tensor, y: torch.Tensor) -> Step:
    """A step of the harness; calling it trains `model` and returns the loss before."""
    optimizer = make_optimizer(model, SCHEDULE)
    return lambda: step(model, lambda rows: model(rows)[0], optimizer, x, y, SCHEDULE.clip_norm)[0]


def qjax_step(model: AttentionPooling, x: torch.Tensor, y: torch.Tensor) -> Step:
    """The same step of qjax's attention from a copy of the weights of `model`; calling it returns the loss before."""
    jax, qjax = load()
    jnp = jax.numpy
    # Copies: what is trained in torch shares its memory otherwise.
    weights = {name: jnp.array(value.detach().numpy().copy()) for name, value in model.named_parameters()}
    rows, classes = jnp.array(x.numpy()), jnp.array(y.numpy())

    def loss(weights: Any) -> Any:
        q = qjax.nn.bounded_q(weights["normalizer.r"][0], LOW, HIGH) if "normalizer.r" in weights else 2.0
        query = jnp.broadcast_to(weights["query"], (len(rows), len(weights["query"])))
        context, _ = qjax.nn.entmax_attention(query, rows @ weights["key"], rows @ weights["value"], q)
        scores = jax.nn.log_softmax(context @ weights["head"] + weights["bias"])
        return -scores[jnp.arange(len(classes)), classes].mean()

    @jax.jit  # type: ignore[untyped-decorator]
    def update(weights: Any, means: Any, squares: Any, number: Any) -> Any:
        """One step of Adam (Kingma, Ba 2015, algorithm 1)."""
        value, grads = jax.value_and_grad(loss)(weights)
        tree = jax.tree_util.tree_map
        means = tree(lambda m, g: 0.9 * m + 0.1 * g, means, grads)
        squares = tree(lambda v, g: 0.999 * v + 0.001 * g * g, squares, grads)
        root = tree(lambda v: jnp.sqrt(v / (1 - 0.999**number)) + 1e-8, squares)
        rate = SCHEDULE.learning_rate / (1 - 0.9**number)
        return value, tree(lambda w, m, r: w - rate * m / r, weights, means, root), means, squares

    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
    state = [weights, zeros, zeros, 0]

    def call() -> Any:
        number = state[3] + 1
        value, *state[:3] = update(*state[:3], float(number))
        state[3] = number
        return jax.block_until_ready(value)

    return call
