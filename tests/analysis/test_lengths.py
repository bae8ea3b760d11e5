"""What is read of each test length, and which records are refused for it."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis import frame, lengths
from analysis.errors import InputError


def test_a_record_becomes_a_row_per_length_with_means_over_blocks_and_heads(build: SimpleNamespace) -> None:
    entropy = [[[1.0, 2.0], [3.0, 6.0]], [[2.0, 2.0], [4.0, 4.0]], [[0.0, 0.0], [0.0, 1.0]]]
    record = build.at_lengths("copy_nape", "softmax", 3, [1.0, 0.5, 0.25], token=[1.0, 0.9, 0.8], level=[2.0, 3.0, 4.0])
    record.attention["by_length"]["entropy"] = entropy
    found = build.runs_of([record]).by_length
    assert list(found.columns) == list(lengths.COLUMNS)
    assert found["length"].tolist() == [16, 32, 64]
    assert found["seed"].tolist() == [3, 3, 3]
    assert found["rows"].tolist() == [100, 100, 100]
    assert found["exact_match"].tolist() == [1.0, 0.5, 0.25]
    assert found["token_accuracy"].tolist() == [1.0, 0.9, 0.8]
    assert found["entropy"].tolist() == [3.0, 3.0, 0.25]
    assert found["peak"].tolist() == pytest.approx([0.2, 0.3, 0.4])
    assert set(found["path"]) == {"copy_nape-softmax-3.json"}
    assert lengths.training(found) == {"copy_nape": (4, 16)}


def test_records_of_other_studies_have_none(build: SimpleNamespace) -> None:
    found = build.runs_of(build.grid()).by_length
    assert found.empty
    assert list(found.columns) == list(lengths.COLUMNS)
    assert lengths.training(found) == {}
    assert lengths.notices(found) == []


def test_series_are_by_length_and_seed_whatever_the_order_of_records(build: SimpleNamespace) -> None:
    records = [build.at_lengths("copy", "softmax", seed, [1.0, 0.5, seed / 10]) for seed in (2, 0, 1)]
    records += [
        build.at_lengths("copy", "hae", 0, [0.0, 0.0, 0.0]),
        build.at_lengths("sort", "softmax", 0, [0.9, 0.9, 0.9]),
    ]
    found = lengths.series(build.runs_of(records).by_length, "copy", "softmax", "exact_match")
    assert list(found) == [16, 32, 64]
    assert found[64].to_dict() == {0: 0.0, 1: 0.1, 2: 0.2}
    assert lengths.series(build.runs_of(records).by_length, "sort", "hae", "exact_match") == {}


def test_what_accuracy_means_is_said_per_longest_length(build: SimpleNamespace) -> None:
    records = [build.at_lengths(name, "softmax", 0, [1.0, 0.5, 0.2]) for name in ("copy", "sort")]
    records.append(build.at_lengths("reverse", "softmax", 0, [1.0], lengths=[16]))
    assert lengths.notices(build.runs_of(records).by_length) == [
        "copy, sort: accuracy is the exact match at length 64.",
        "reverse: accuracy is the exact match at length 16.",
    ]


def test_without_lengths_of_training_there_is_no_shade(build: SimpleNamespace) -> None:
    record = build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2]).model_copy(update={"config": {}})
    found = build.runs_of([record]).by_length
    assert found["trained_to"].isna().all()
    assert lengths.training(found) == {}


FLAT = [[1.0, 1.0, 1.0]] * 3
CUBE = [[[0.5, 0.5], [0.5, 0.5]]] * 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": []}, "length is empty or holds a value"),
        ({"length": 16}, r"length is 16, not ascending whole numbers above 0"),
        ({"length": [16, 64, 32]}, r"length is \[16, 64, 32\], not ascending"),
        ({"length": [16, 16, 32]}, "not ascending whole"),
        ({"length": [0, 16, 32]}, "not ascending whole"),
        ({"length": [16, 32.5, 64]}, "not ascending whole"),
        ({"length": [16, 32]}, r"rows has shape \(3,\), and length has \(2,\)"),
        ({"rows": [100]}, r"rows has shape \(1,\), and length has \(3,\)"),
        ({"exact_match": [1.0, 0.5]}, r"exact_match has shape \(2,\), and length has \(3,\)"),
        ({"exact_match": [1.0, 50.0, 0.5]}, "exact_match holds 50, which is no share of 1"),
        ({"token_accuracy": [1.0, -0.1, 0.5]}, "token_accuracy holds -0.1, which is no share of 1"),
        ({"token_accuracy": ["high", "low", "low"]}, "token_accuracy is not an array of numbers"),
        ({"token_accuracy": [1.0, None, 0.5]}, "token_accuracy is empty or holds a value that is no finite number"),
        ({"entropy": FLAT}, r"entropy has shape \(3, 3\), not lengths x blocks x heads for 3 lengths"),
        ({"entropy": CUBE[:2]}, r"entropy has shape \(2, 2, 2\), not lengths x blocks x heads for 3 lengths"),
        ({"entropy": [[[1.0, 1.0], [1.0]]] * 3}, "entropy is not an array of numbers"),
        ({"peak": [[[0.5]]] * 3}, r"peak has shape \(3, 1, 1\), not \(3, 2, 2\) of entropy"),
        ({"support": [[[2.0] * 2] * 2] * 3}, "support holds 2, which is no share of 1"),
    ],
)
def test_another_shape_is_refused_by_file(build: SimpleNamespace, changes: dict[str, Any], message: str) -> None:
    record = build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2], **changes)
    with pytest.raises(InputError, match=message) as error:
        build.runs_of([record])
    assert str(error.value).startswith("copy-softmax-0.json: attention.by_length.")


def test_a_missing_part_and_another_kind_are_refused_by_file(build: SimpleNamespace) -> None:
    record = build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2])
    del record.attention["by_length"]["peak"]
    with pytest.raises(InputError, match=r"copy-softmax-0.json: attention.by_length has no peak \(it has length, rows"):
        build.runs_of([record])
    record.attention["by_length"] = [1, 2]
    with pytest.raises(InputError, match=r"copy-softmax-0.json: attention.by_length holds a list, not an object"):
        build.runs_of([record])


def test_shares_may_be_rounded_beyond_one(build: SimpleNamespace) -> None:
    peak = [[[1.0 + 1e-7, 1.0], [1.0, 1.0]]] * 3
    found = build.runs_of([build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2], peak=peak)]).by_length
    assert found["peak"].tolist() == pytest.approx([1.0] * 3)


def test_the_accuracy_is_the_exact_match_at_the_longest_length(build: SimpleNamespace) -> None:
    record = build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2], exact_match=[1.0, 0.5, 0.3])
    message = r"json: metrics.accuracy is 0.2, and attention.by_length.exact_match is 0.3 at the longest length, 64"
    with pytest.raises(InputError, match=message):
        build.runs_of([record])


@pytest.mark.parametrize("ends", [(16, None), (16, 4), ("a", "b"), (0, 4)])
def test_impossible_lengths_of_training_are_refused(build: SimpleNamespace, ends: tuple[object, object]) -> None:
    record = build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2])
    record.config["dataset"]["train_shortest"], record.config["dataset"]["train_longest"] = ends
    with pytest.raises(
        InputError, match=r"copy-softmax-0.json: train_shortest and train_longest of config.dataset are .*, no range"
    ):
        build.runs_of([record])


def test_different_test_lengths_of_one_data_set_are_never_pooled(build: SimpleNamespace, tmp_path: Path) -> None:
    usual = build.save(tmp_path, *(build.at_lengths("copy", "softmax", seed, [1.0, 0.5, 0.2]) for seed in range(2)))
    [odd] = build.save(tmp_path, build.at_lengths("copy", "hae", 0, [1.0, 0.5], lengths=[16, 32]))
    build.save(tmp_path, build.at_lengths("sort", "softmax", 0, [1.0], lengths=[8]))
    with pytest.raises(InputError, match="copy was tested at different lengths, which are never pooled") as error:
        frame.load([tmp_path])
    assert f"  16, 32, 64 (2 runs), such as {usual[0]}\n" in str(error.value)
    assert f"  16, 32 (1 run), such as {odd}\n" in str(error.value)


def test_runs_with_and_without_lengths_are_not_pooled_either(build: SimpleNamespace, tmp_path: Path) -> None:
    [first] = build.save(tmp_path, build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2]))
    [second] = build.save(tmp_path, build.make("copy", "softmax", 1, 0.2))
    with pytest.raises(InputError) as error:
        frame.load([tmp_path])
    assert f"  16, 32, 64 (1 run), such as {first}\n  no lengths at all (1 run), such as {second}\n" in str(error.value)


def test_a_failed_run_needs_no_lengths(build: SimpleNamespace) -> None:
    records = [build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2]), build.make("copy", "softmax", 1, None)]
    runs = build.runs_of(records)
    assert len(runs.by_length) == 3
    assert runs.attempted("copy", "softmax") == {0, 1}


def test_macro_f1_is_absent_and_the_accuracy_there(build: SimpleNamespace) -> None:
    runs = build.runs_of([build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2])])
    assert runs.frame["accuracy"].tolist() == [0.2]
    assert math.isnan(runs.frame["macro_f1"].iloc[0])
