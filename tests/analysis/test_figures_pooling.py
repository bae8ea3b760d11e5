"""The six panels of attention pooling."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.collections import PolyCollection
from matplotlib.text import Text

from analysis import figures, frame
from analysis.errors import InputError
from analysis.figures import pooling
from analysis.figures.scene import Scene
from analysis.figures.sheet import STYLE
from analysis.frame import Runs
from analysis.plan import Plan

NORMALIZERS = ["softmax", "sparsemax", "bounded_entmax"]
PLAN = Plan.model_validate(
    {"control": "softmax", "order": NORMALIZERS, "targets": [{"normalizer": NORMALIZERS[2], "value": 2, "margin": 0.1}]}
)
SIZES = {"train_limit": 512, "length": 0}


def saved(build: SimpleNamespace, folder: Path, lengths: list[int], **changes: Any) -> Runs:
    for length in lengths:
        for n, name in enumerate(NORMALIZERS):
            for seed in range(3):
                random = np.random.default_rng([length, n, seed])
                weights = random.dirichlet(np.ones(length), 18).round(3).tolist()
                marks = [sorted(random.permutation(length)[:3].tolist()) for _ in range(18)]
                accuracy = 0.9 + 0.01 * n - 0.001 * length + 0.001 * seed
                curves = {"alpha": (1.6 + 0.1 * random.random((5, 1, 1))).tolist()} if n == 2 else {}
                fields: dict[str, Any] = {
                    "metrics": {"accuracy": accuracy, "informative_mass": 0.8 + 0.01 * n},
                    "config": {
                        "dataset": SIZES | {"length": length},
                        "train": {"passes": 10, "batch_size": None},
                    },
                    "attention": {"map": {"weights": weights, "marks": marks}},
                    "curves": curves,
                }
                build.save(folder, build.make(f"informative_tokens_{length}", name, seed, accuracy, **fields | changes))
    return frame.load([folder])


@pytest.fixture(scope="module")
def runs(build: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return saved(build, tmp_path_factory.mktemp("records"), [4, 16, 32])


def drawn(runs: Runs, plan: Plan = PLAN) -> tuple[Any, list[str]]:
    with rc_context(STYLE):
        sheet = pooling.six(Scene(runs, plan))
        assert sheet is not None
        figure = sheet.finish()
    return figure, [text.get_text() for text in figure.findobj(Text)]


def test_six_panels_with_lengths_steps_and_maps(runs: Runs) -> None:
    figure, words = drawn(runs)
    titles = [word for word in words if word[:3] in ("a  ", "b  ", "c  ", "d  ", "e  ", "f  ")]
    assert titles == [
        "a  test accuracy",
        "b  mass on informative tokens",
        "c  learned q over steps",
        "d  softmax, 16 tokens",
        "e  sparsemax, 16 tokens",
        "f  bounded_entmax, 16 tokens",
    ]
    assert words.count("32") == 3  # an axis each of a and b, and the end of a line of c
    assert len([found for found in figure.findobj(PolyCollection) if len(found.get_paths()) > 200]) == 3


def test_the_figure_is_one_of_the_analysis_with_the_same_bytes_each_time(runs: Runs) -> None:
    drawn = figures.draw(runs, PLAN)
    assert {"attention_pooling.svg", "attention_pooling.png"} <= set(drawn.files)
    assert figures.draw(runs, PLAN) == drawn


def test_steps_are_epochs_times_passes(runs: Runs) -> None:
    scene = Scene(runs, PLAN)
    found = pooling._pooled(scene)
    assert found is not None
    curves = pooling._curves(scene, found, PLAN.targets[0])
    assert list(curves) == [4, 16, 32]
    steps, lines = curves[16]
    assert steps == [10, 20, 30, 40, 50]
    assert lines.shape == (3, 5)


def test_map_rows_stand_in_the_order_of_their_first_informative_token(runs: Runs) -> None:
    scene = Scene(runs, PLAN)
    found = pooling._pooled(scene)
    assert found is not None
    for weights, marks in pooling._maps(scene, found, NORMALIZERS).values():
        assert [row[0] for row in marks] == sorted(row[0] for row in marks)
        assert [sum(row) for row in weights] == pytest.approx([1] * 18, abs=0.01)


def test_without_a_target_or_mass_there_is_no_figure(runs: Runs) -> None:
    assert pooling.six(Scene(runs, PLAN.model_copy(update={"targets": []}))) is None
    assert pooling.six(Scene(Runs(runs.frame.assign(informative_mass=np.nan), runs.failed, ()), PLAN)) is None
    assert pooling.six(Scene(Runs(runs.frame.assign(path="gone.json"), runs.failed, ()), PLAN)) is None


def test_one_length_alone_and_other_than_16_is_drawn(build: SimpleNamespace, tmp_path: Path) -> None:
    words = drawn(saved(build, tmp_path, [8]))[1]
    assert "d  softmax, 8 tokens" in words


@pytest.fixture
def break_one() -> Callable[[Runs], None]:
    def call(runs: Runs) -> None:
        Path(runs.frame["path"].iloc[0]).write_text("{")

    return call


def test_a_record_that_broke_meanwhile_is_named(
    build: SimpleNamespace, tmp_path: Path, break_one: Callable[[Runs], None]
) -> None:
    runs = saved(build, tmp_path, [8])
    break_one(runs)
    with pytest.raises(InputError, match=r"seed=0-.*\.json"):
        pooling.six(Scene(runs, PLAN))
