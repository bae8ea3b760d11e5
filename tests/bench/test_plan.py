"""Planning: what is to be made, and what is refused before anything trains."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import inputs
from bench.plan import cores, plan
from bench.schema import ConfigError
from datasets import SOURCES, Arrays, DataError, Rows, Source
from tests.bench.helpers import CONF, changed, raw


def test_every_run_is_planned_once_and_the_longest_first(tiny: tuple[str, ...], tmp_path: Path) -> None:
    one = raw(*tiny, f"results_dir={tmp_path}")
    longer = changed(changed(one, "train.epochs", 9), "seed", 5)
    wider = changed(changed(one, "dataset.patch", 4), "seed", 6)
    planned = plan([one, longer, one, wider, changed(one, "results_dir", str(tmp_path)), changed(one, "seed", 1)])
    assert [job.label for job in planned.jobs] == [f"digits/softmax/seed={seed}" for seed in (5, 0, 1, 6)]
    assert planned.repeated == ["digits/softmax/seed=0"] * 2
    assert planned.unavailable == []
    assert [job.cost for job in planned.jobs] == [60 * 9 * 17, 60 * 17, 60 * 17, 60 * 5]
    job = planned.jobs[1]
    assert job.path == tmp_path / "digits" / "softmax" / f"seed=0-{job.identity.fingerprint}.json"
    assert job.cell == "digits/softmax"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("normalizer", "key", "value", "message"),
    [
        (
            "topk_025",
            "normalizer.ratio",
            0.0,
            "normalizer topk_025: ratio must be in (0, 1], got ratio=0.0",
        ),
        (
            "topk_025",
            "normalizer.ratio",
            1.5,
            "normalizer topk_025: ratio must be in (0, 1], got ratio=1.5",
        ),
        ("entmax", "normalizer.alpha", 0.5, "normalizer entmax_1.25: alpha must be a finite"),
        ("entmax15", "normalizer.gradient", "exakt", "normalizer.gradient='exakt'"),
        ("softmax", "dataset.patch", 3, "dataset.patch=3 does not divide images of 8x8"),
        ("softmax", "dataset.train_limit", 5000, "dataset.train_limit=5000 must lie between 1 and the 1297 rows"),
        ("softmax", "dataset.test_limit", 501, "dataset.test_limit=501 must lie between 1 and the 500 rows"),
        ("softmax", "model.heads", 5, "model: heads=5 does not divide width=64"),
    ],
)
def test_a_bad_run_is_refused_by_name_with_all_its_sweep(
    tiny: tuple[str, ...], tmp_path: Path, normalizer: str, key: str, value: Any, message: str
) -> None:
    good = raw(*tiny, f"results_dir={tmp_path}")
    bad = changed(raw(*tiny, f"results_dir={tmp_path}", normalizer=normalizer), key, value)
    with pytest.raises(ConfigError) as caught:
        plan([good, bad, changed(bad, "seed", 1)])
    assert str(caught.value).startswith(message)
    assert str(caught.value).count("\n") == 0


def top_k(tiny: tuple[str, ...], k: int | None, ratio: float | None) -> dict[str, Any]:
    return raw(*tiny) | {"normalizer": {"name": "mine", "map": "topk", "k": k, "ratio": ratio}}


def test_more_keys_than_a_row_has_are_refused_for_the_data_set_at_hand(tiny: tuple[str, ...]) -> None:
    assert len(plan([top_k(tiny, 17, None)]).jobs) == 1
    with pytest.raises(ConfigError, match=r"normalizer mine on digits: k=18 is more than the 17 slots of a row"):
        plan([top_k(tiny, 18, None)])
    with pytest.raises(ConfigError, match=r"k=17 is more than the 5 slots"):
        plan([changed(top_k(tiny, 17, None), "dataset.patch", 4)])


@pytest.mark.parametrize(("k", "ratio"), [(3, 0.5), (None, None)])
def test_two_selections_or_none_are_refused(tiny: tuple[str, ...], k: int | None, ratio: float | None) -> None:
    with pytest.raises(ConfigError, match=rf"give exactly one of k and ratio, got k={k}, ratio={ratio}"):
        plan([top_k(tiny, k, ratio)])


def test_every_bad_run_of_a_sweep_is_named_in_one_go(tiny: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        plan([changed(raw(*tiny), "train.epochs", 0), raw(*tiny), changed(raw(*tiny), "model.heads", 7)])
    assert len(str(caught.value).splitlines()) == 2


def test_more_threads_than_processors_are_refused_with_their_number(tiny: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        plan([changed(raw(*tiny), "threads", 10_000)])
    assert str(caught.value) == f"threads=10000 is more than the {cores()} processors there are here"
    assert len(plan([changed(raw(*tiny), "threads", cores())]).jobs) == 1


def test_one_run_under_two_labels_is_refused_with_both(tiny: tuple[str, ...]) -> None:
    two = [raw(*tiny, normalizer=name) for name in ("topk_025", "topk")]
    with pytest.raises(ConfigError) as caught:
        plan(two)
    assert str(caught.value) == (
        "digits/topk_025/seed=0 and digits/topk_0.25/seed=0 are one run under two labels; leave one of them out"
    )
    apart = [changed(content, "results_dir", name) for content, name in zip(two, "ab", strict=True)]
    assert len(plan(apart).jobs) == 2


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Overrides for a text data set whose post in row 7 of 20 has three words, and all others all eight."""
    ids = np.full((20, 8), 5, dtype=np.int32)
    ids[7, 3:] = 0
    rows = Rows(ids, np.arange(20) % 2)
    full = Rows(np.full((20, 8), 5, dtype=np.int32), rows.y)
    monkeypatch.setitem(SOURCES, "marker", Source("tokens", lambda _: Arrays(rows, full, classes=2, vocabulary=9)))
    own = "name=texts source=marker train_limit=20 test_limit=20 validation=0 epochs=1"
    return [*(f"dataset.{word}" for word in own.split()), "dataset.mask_padding=true", f"data.root={tmp_path}"]


def on_texts(texts: list[str], *words: str, normalizer: str) -> dict[str, Any]:
    content = raw(*texts, *words, dataset="marker", normalizer=normalizer)
    for option in ("vocabulary", "length", "answer"):
        del content["dataset"][option]
    return content


def test_a_text_too_short_for_the_normalizer_is_found_before_anything_trains(texts: list[str]) -> None:
    content = on_texts(texts, "normalizer.upper=0.24", normalizer="constrained_sparsemax")
    with pytest.raises(ConfigError) as caught:
        plan([content])
    where = "on texts (dataset.mask_padding=true leaves 4 of 9 keys)"
    assert str(caught.value).startswith(f"normalizer constrained_sparsemax_0.24 {where}: upper must sum to at least 1")
    assert len(plan([changed(content, "normalizer.upper", 0.25)]).jobs) == 1
    assert len(plan([changed(content, "dataset.mask_padding", False)]).jobs) == 1
    # A run that does not draw that text can be made.
    order = np.random.default_rng(0).permutation(20).tolist()
    without = changed(content, "dataset.train_limit", order.index(7))
    assert len(plan([without]).jobs) == 1
    for key, value in (("dataset.train_limit", order.index(7) + 1), ("dataset.validation", 1)):
        with pytest.raises(ConfigError, match="leaves 4 of 9 keys"):
            plan([changed(without, key, value)])


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "normalizer").glob("*.yaml")))
def test_every_normalizer_can_be_planned_on_masked_texts(texts: list[str], name: str) -> None:
    assert len(plan([on_texts(texts, normalizer=name)]).jobs) == 1


def broken(root: Path) -> Path:
    """A data folder whose KMNIST is a file cut short under the right name."""
    folder = root / "KMNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(bytes(100))
    return root


def test_a_data_set_that_cannot_be_had_takes_only_its_own_runs(tmp_path: Path) -> None:
    root = broken(tmp_path / "data")
    words = (f"data.root={root}", f"results_dir={tmp_path / 'r'}")
    planned = plan([raw(*words, f"seed={seed}", dataset=name) for name in ("kmnist", "digits") for seed in (0, 1)])
    assert [job.label for job in planned.jobs] == ["digits/softmax/seed=0", "digits/softmax/seed=1"]
    assert [label for label, _ in planned.unavailable] == ["kmnist/softmax/seed=0", "kmnist/softmax/seed=1"]
    assert all("train-images-idx3-ubyte is not the official file" in reason for _, reason in planned.unavailable)


def test_one_split_that_cannot_be_had_leaves_the_other(tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    one = raw(*tiny)
    other = changed(one, "data.root", "nowhere")
    arrays = inputs.arrays

    def only_here(config: Any) -> Any:
        if config.data.root == "nowhere":
            raise DataError("not here")
        return arrays(config)

    monkeypatch.setattr(inputs, "arrays", only_here)
    planned = plan([other, changed(one, "seed", 1)])
    assert [job.label for job in planned.jobs] == ["digits/softmax/seed=1"]
