"""`python -m bench frames`: one run of attention pooling, watched step by step, as the frames of an animation.

The run is that of a record with the same seed, except that every epoch is one step. `frames.npz` holds plain arrays:
`q` (steps + 1,), the learned q at the start and after every step; `steps` (frames,), when a frame was taken; `weights`
(frames, 18, tokens), what the first test rows were read with; `marks` (18, tokens), True where a token is informative.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench import inputs
from bench.allocator import keep_memory
from bench.arithmetic import Forward
from bench.folders import divided
from bench.launcher import composed
from bench.measure import MAP_ROWS, attention_map
from bench.run import choose_device, make_model
from bench.schema import ConfigError, RunConfig, validate
from bench.streams import global_stream, stream
from bench.train import Curves, train
from datasets import DataError

NAME = "frames.npz"
FRAMES = 140
USUAL = (
    *("dataset=informative_tokens", "model=attention_pooling", "train=pooling", "normalizer=bounded_entmax"),
    *("train.epochs=4000", "train.passes=1"),
)


def frames(arguments: Sequence[str], conf: Path) -> int:
    """Train, and write `NAME` into the folder among `arguments`; words with `=` are overrides. Returns the exit code.

    Raises ConfigError for a run whose epochs are not one step each, or whose normalizer learns no q.
    """
    words, folders = divided(arguments)
    if len(folders) > 1:
        raise ConfigError(f"frames go into one folder, not into {' and '.join(folders)}")
    folder = Path(folders[0] if folders else "results/attention_pooling")
    config = validate(composed(conf, *USUAL, *words))
    try:
        content = watched(config)
    except DataError as error:
        raise ConfigError(f"the data of {config.label} are not available: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{NAME}.{os.getpid()}.part"
    with part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **content)
    part.replace(folder / NAME)
    print(f"{len(content['steps'])} frames of {len(content['q']) - 1} steps are in {folder / NAME}")
    print(f"drawn by: python -m analysis animate {folder}")
    return 0


def frame_steps(last: int, frames: int = FRAMES) -> list[int]:
    """Steps from 0 to `last` after which a frame is taken, denser at the start: about last · (i / frames)²."""
    taken = [0]
    for i in range(1, frames):
        taken.append(max(taken[-1] + 1, round(last * (i / (frames - 1)) ** 2)))
    return [step for step in taken if step < last] + [last]


def watched(config: RunConfig) -> dict[str, NDArray[Any]]:
    """The arrays of the module's docstring."""
    if config.train.passes != 1 or config.train.batch_size is not None:
        raise ConfigError("frames are taken after single steps: leave train.passes=1 and train.batch_size=null")
    torch.set_num_threads(config.threads)
    keep_memory()
    device = choose_device(config.device)
    prepared = inputs.arrays(config)
    data = inputs.tensors(config, prepared, device)
    if data.test_marks is None:
        raise ConfigError(f"dataset.source={config.dataset.source} marks no informative tokens")
    model = make_model(config, inputs.shape(config, prepared), device)
    (normalizer,) = model.normalizers()
    if "alpha" not in normalizer.learned():
        raise ConfigError(f"normalizer={config.normalizer.name} learns no q; choose bounded_entmax")
    wanted = set(frame_steps(config.train.epochs))
    q: list[float] = []
    weights: list[list[list[float]]] = []
    marks = data.test_marks[:MAP_ROWS]

    def look(step: int) -> None:
        q.append(normalizer.learned()["alpha"].mean().item())
        if step in wanted:
            weights.append(attention_map(model, data.test[0], marks)["weights"])

    def after_step(step: int, _curves: Curves) -> dict[str, Any]:
        look(step)
        return {}

    look(0)
    schedule = config.schedule
    forward = Forward(model, config.train.precision, device, config.compile)
    with global_stream(config.seed, "noise"):
        train(model, forward, *data.train, schedule, stream(config.seed, "batches"), after_step)
    return {
        "q": np.array(q, dtype=np.float32),
        "steps": np.array(sorted(wanted), dtype=np.int32),
        "weights": np.array(weights, dtype=np.float32),
        "marks": marks.cpu().numpy(),
    }
