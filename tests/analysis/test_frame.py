"""What may stand in one frame, and what is refused or left out with its file named."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis import frame
from analysis.errors import InputError
from tests.conftest import Tally


def test_records_become_rows_sorted_by_key(build: SimpleNamespace, records_dir: Path) -> None:
    runs = frame.load([records_dir])
    assert len(runs.frame) == 16
    assert list(runs.cell("digits", "softmax")["accuracy"]) == list(build.accuracy["softmax"])
    assert runs.frame["torch"].unique().tolist() == ["2.9.0"]
    assert runs.frame["alpha_mean"].isna().all()
    assert runs.warnings == ()
    assert Path(runs.frame["path"].iloc[0]).is_file()


def test_a_folder_named_twice_or_lying_in_another_counts_once(records_dir: Path) -> None:
    runs = frame.load([records_dir, records_dir.parent, records_dir / "digits"])
    assert len(runs.frame) == 16


@pytest.mark.fault("a record cut in half, in the analysis")
def test_a_file_cut_in_half_is_named_and_left_out(build: SimpleNamespace, records_dir: Path, fault: Tally) -> None:
    [path] = build.save(records_dir, build.make("digits", "softmax", 9, 0.5))
    path.write_text(path.read_text()[:100])
    runs = frame.load([records_dir])
    assert len(runs.frame) == 16
    assert len(runs.warnings) == 1
    assert str(path) in runs.warnings[0]
    fault.inject()
    fault.said(runs.warnings[0], "not whole JSON")
    assert runs.warnings[0].endswith("left out")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "failed", "error": {"type": "E", "message": "loss is nan\nmore"}}, "this run failed: loss is nan;"),
        ({"status": "interrupted"}, "this run was interrupted;"),
        ({"metrics": {"macro_f1": 0.3}}, "completed, but without an accuracy;"),
    ],
)
def test_a_run_without_result_is_a_missing_seed(build: SimpleNamespace, changes: dict, reason: str) -> None:
    runs = build.runs_of([*build.grid(), build.make("digits", "softmax", 4, None, **changes)])
    assert runs.completed("digits", "softmax") == {0, 1, 2, 3}
    assert runs.attempted("digits", "softmax") == {0, 1, 2, 3, 4}
    assert "digits-softmax-4.json" in runs.warnings[0]
    assert reason in runs.warnings[0]
    assert runs.warnings[0].endswith("counted as a missing seed, not as a zero")


def test_a_failed_run_done_again_is_not_missing(build: SimpleNamespace) -> None:
    runs = build.runs_of([*build.grid(), build.make("digits", "softmax", 0, None, status="failed")])
    assert not runs.failed
    assert runs.attempted("digits", "softmax") == {0, 1, 2, 3}


@pytest.mark.fault("two records of one run, in the analysis")
def test_two_records_for_one_key_are_an_error_that_names_both_files(
    build: SimpleNamespace, records_dir: Path, fault: Tally
) -> None:
    [second] = build.save(records_dir, build.make("digits", "hae", 2, 0.5, fingerprint="other"))
    first = records_dir / "digits" / "hae" / "seed=2-digitshae2.json"
    with fault.refused(InputError, match="more than one completed run of digits, hae, seed 2") as error:
        frame.load([records_dir])
    assert str(first) in str(error.value)
    assert str(second) in str(error.value)


@pytest.mark.fault("records of different settings, in the analysis")
def test_different_settings_of_one_data_set_are_never_pooled(build: SimpleNamespace, fault: Tally) -> None:
    records = [*build.grid(), build.make("digits", "sparsemax", 7, 0.5, setting="epochs-30")]
    with fault.refused(InputError, match="digits has 2 values of `setting`, which are never pooled") as error:
        build.runs_of(records)
    assert "epochs-30 (1 run), such as digits-sparsemax-7.json" in str(error.value)
    assert "setting-digits (16 runs), such as digits-entmax15-0.json" in str(error.value)


def test_different_cells_of_one_normalizer_are_never_pooled(build: SimpleNamespace) -> None:
    records = [*build.grid(), build.make("digits", "hae", 7, 0.5, cell="gradient-bisection")]
    with pytest.raises(InputError, match="digits hae has 2 values of `cell`") as error:
        build.runs_of(records)
    assert "gradient-bisection (1 run), such as digits-hae-7.json" in str(error.value)
    assert "their `config` is the same" in str(error.value)


def test_the_keys_that_differ_are_named_with_their_values(build: SimpleNamespace) -> None:
    def config(seed: int, normalizer: str, **train: object) -> dict:
        return {"seed": seed, "normalizer": {"name": normalizer}, "train": {"batch_size": 96} | train}

    records = [r.model_copy(update={"config": config(r.seed, r.normalizer, epochs=15)}) for r in build.grid()]
    other = config(7, "hae", epochs=30, warmup=5)
    with pytest.raises(InputError, match="never pooled") as error:
        build.runs_of([*records, build.make("digits", "hae", 7, 0.5, setting="other", config=other)])
    said = str(error.value)
    assert "they differ in train.epochs: 15, 30\n" in said
    assert "they differ in train.warmup: not there, 5\n" in said
    assert "batch_size" not in said
    assert "normalizer" not in said.partition("they differ")[2]


def test_different_settings_of_two_data_sets_are_fine(build: SimpleNamespace) -> None:
    runs = build.runs_of([*build.grid(), *build.grid(dataset="marker_learnable")])
    assert runs.datasets == {"digits", "marker_learnable"}


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no completed run in {tmp_path}: there is no .json file below it"):
        frame.load([tmp_path])


def test_a_folder_of_broken_files_and_of_another_schema_names_them(build: SimpleNamespace, tmp_path: Path) -> None:
    paths = build.save(tmp_path, *build.grid()[:7])
    for path in paths:
        path.write_text(path.read_text().replace('"schema":1', '"schema":2'))
    paths[0].write_text("{")
    with pytest.raises(InputError, match="no completed run") as error:
        frame.load([tmp_path])
    said = str(error.value)
    assert f"{paths[0]}: not whole JSON" in said
    assert f"{paths[1]}: has schema 2; this version reads schema 1" in said
    assert said.endswith("\n  and 2 more")


def test_a_nan_in_a_record_is_named(records_dir: Path) -> None:
    path = records_dir / "digits" / "hae" / "seed=2-digitshae2.json"
    path.write_text(path.read_text().replace('"accuracy":0.5', '"accuracy":NaN'))
    runs = frame.load([records_dir])
    assert runs.warnings == (f"{path}: holds NaN, which is no number of a result; left out",)
    assert runs.completed("digits", "hae") == {0, 1, 3}


def test_a_link_to_a_record_is_the_same_run_and_one_to_nothing_is_named(records_dir: Path) -> None:
    (records_dir / "link.json").symlink_to(records_dir / "digits" / "hae" / "seed=2-digitshae2.json")
    (records_dir / "nothing.json").symlink_to(records_dir / "gone.json")
    runs = frame.load([records_dir])
    assert len(runs.frame) == 16
    assert runs.warnings == (f"{records_dir / 'nothing.json'}: cannot be read (No such file or directory); left out",)


def test_a_folder_of_failed_runs_is_an_error_that_says_so(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(
        tmp_path,
        build.make(
            "digits", "softmax", 0, None, status="failed", error={"type": "MemoryError", "message": "no memory"}
        ),
    )
    with pytest.raises(InputError, match=r"no completed run(.|\n)*no memory"):
        frame.load([tmp_path])


def test_a_source_that_is_not_there_is_named_with_a_near_match(records_dir: Path) -> None:
    wrong = records_dir.with_name("record")
    with pytest.raises(InputError, match=f"no such folder or file: {wrong}; did you mean '{records_dir}'"):
        frame.load([wrong])


def test_a_source_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(InputError, match=r"neither a folder of run records nor a \.csv file"):
        frame.load([tmp_path / "x.txt"])


IMPOSSIBLE = [
    *(("accuracy", value, "a share of 1; a percentage must be divided by 100") for value in (87.5, -0.01, 1e300)),
    ("validation_accuracy", 83.0, "a share of 1; a percentage must be divided by 100"),
    ("support", 7.5, "a share of 1; a percentage must be divided by 100"),
    ("train_seconds", -5.0, "a number of seconds, 0 or more"),
]


@pytest.mark.parametrize(("name", "value", "domain"), IMPOSSIBLE)
def test_a_record_with_an_impossible_number_is_refused(
    build: SimpleNamespace, records_dir: Path, name: str, value: float, domain: str
) -> None:
    [path] = build.save(records_dir, build.make("digits", "softmax", 9, 0.5))
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metrics"][name] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        frame.load([records_dir])
    assert str(refused.value) == f"{path}: metrics.{name} is {value:g}, which is not {domain}"


def test_two_settings_of_one_seed_say_what_differs(build: SimpleNamespace) -> None:
    records = [
        build.make("digits", "softmax", 0, 0.5, setting=f"s{epochs}", cell=f"c{epochs}", config={"epochs": epochs})
        for epochs in (1, 2)
    ]
    with pytest.raises(InputError, match="epochs: 1, 2"):
        build.runs_of(records)


def made_by(build: SimpleNamespace, **sources: tuple[str | None, ...]) -> list:
    """Two runs of softmax and two of hae, whose provenance names these sources, one for each run."""
    cells = [("softmax", 0), ("softmax", 1), ("hae", 0), ("hae", 1)]
    return [
        build.make("digits", name, seed, 0.5, provenance={what: values[place] for what, values in sources.items()})
        for place, (name, seed) in enumerate(cells)
    ]


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"map_source": ("a", "a", "b", "c")}, "digits hae: the normalizer's code was not the same in all runs: "),
        ({"model_source": ("a", "a", "b", "b")}, "digits: the model's code was not the same in all runs: "),
        ({"data_source": ("a", "b", "b", "b")}, "digits: the code that builds the data set was not the same in all"),
    ],
)
def test_a_cell_or_comparison_of_runs_that_other_source_made_is_warned_of(
    build: SimpleNamespace, sources: dict, said: str
) -> None:
    runs = build.runs_of(made_by(build, **sources))
    assert len(runs.warnings) == 1
    assert runs.warnings[0].startswith(said)
    assert "1 run of " in runs.warnings[0] or "2 runs of a (softmax), such as " in runs.warnings[0]
    assert ".json" in runs.warnings[0]


@pytest.mark.parametrize(
    "sources",
    [
        {"map_source": ("a", "a", "b", "b"), "model_source": ("c",) * 4, "data_source": ("d",) * 4},
        {"map_source": ("a", None, "b", None), "model_source": ("c", None, None, "c")},
        {},
    ],
    ids=["the same", "not recorded in all", "not recorded"],
)
def test_runs_of_one_source_or_of_none_that_is_recorded_are_not_warned_of(
    build: SimpleNamespace, sources: dict
) -> None:
    assert build.runs_of(made_by(build, **sources)).warnings == ()
