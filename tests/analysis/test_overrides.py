"""Words of the command line: what needs no quotes, what needs no plus, and what is said of the rest."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from analysis.__main__ import main
from analysis.overrides import for_hydra, quoted

Command = Callable[..., tuple[object, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`python -m analysis WORDS` in this process: exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")  # so that what main sets there is taken back

    def call(*words: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["analysis", *words])
        code: object = None
        try:
            main()
        except SystemExit as end:
            code = end.code
        return (code or 0, *capsys.readouterr())

    return call


@pytest.mark.parametrize("path", ["a\\b", "a\\", "a\\\\b", 'a"b', 'a\\"b', "a#(b ü", "x=y"])
def test_a_path_is_taken_as_it_stands(path: str) -> None:
    assert OverridesParser.create().parse_override(quoted(f"out={path}")).value() == path
    assert OverridesParser.create().parse_override(quoted(f"records={path},b")).value() == [path, "b"]


@pytest.mark.parametrize("words", [("records=x", "out=y"), ("power", "records=x")])
@pytest.mark.parametrize("name", ["analysis.names={hae: mine}", "analysis.names.hae=mine", "+analysis.names.hae=mine"])
def test_any_value_of_the_plan_can_be_set_without_a_plus(command: Command, words: tuple[str, ...], name: str) -> None:
    code, out, err = command(*words, "analysis=demo", name, "analysis.targets=[]", "--cfg", "job")
    assert (code, err) == (0, "")
    assert "  names:\n    hae: mine\n" in out
    assert "  targets: []\n" in out


def test_only_keys_of_the_plan_are_forced() -> None:
    words = ["analysis=demo", "analysis.nmes={}", "figures=false", "~analysis.names"]
    assert [for_hydra(word) for word in words] == words


@pytest.mark.parametrize("words", [(), ("power",)])
def test_help_says_what_can_be_set(command: Command, words: tuple[str, ...]) -> None:
    code, out, err = command(*words, "--help")
    assert (code, err) == (0, "")
    assert "any value of it can be overridden in the same way, and none needs a +" in out
    assert "'analysis.names={hae: mine}'" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("analysis.names.hae=a (b)",),
            "error: analysis.names.hae=a (b): the value has signs with a meaning of their own; as they stand they are "
            "'analysis.names.hae=\"a (b)\"'\n",
        ),
        (("analysis.order=[a",), "error: analysis.order=[a: the value has signs with a meaning of their own"),
        (("recods=x", "--cfg", "job"), "error: unknown key recods (value 'x'); did you mean 'records'?\n"),
        (("analysis.nmes={}",), "error: unknown key analysis.nmes (value '{}'); did you mean 'names'?\n"),
    ],
)
def test_what_is_refused_is_named_with_its_cure(command: Command, words: tuple[str, ...], message: str) -> None:
    code, out, err = command("records=x", "out=y", *words)
    assert (code, out) == (2, "")
    assert err.startswith(message)
