"""The dashboard as code: its definition without a server, and what it says where there is none."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.plan import TABLES
from bench import dashboard
from bench.comparison import find
from bench.logged import by_head
from tests.bench.helpers import ROOT
from tests.bench.wandb_server import KEY, serving

Command = Callable[..., tuple[int, str, str]]


def panels(content: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    sections = content["layout"]["section"]["panelBankConfig"]["sections"]
    return {section["name"]: section["panels"] for section in sections}


def test_the_definition_is_written_without_a_server(command: Command) -> None:
    pytest.importorskip("wandb_workspaces")
    assert command("dashboard", "me/mine", "save=d.json") == (0, "d.json\n", "")
    content = json.loads(Path("d.json").read_text(encoding="utf-8"))
    assert (content["entity"], content["project"], content["name"]) == ("me", "mine", "normbench")
    laid = panels(content)
    accuracy = laid["Results by cell"][0]["config"]
    assert (accuracy["metrics"], accuracy["groupBy"]) == (["summary_metrics.accuracy"], "group")
    (alpha,) = laid["Learned α"]
    shown = alpha["config"]["metricRegex"]
    assert all(re.search(shown, name) for name in by_head("alpha", [[1.0] * 12] * 11))  # however many there are
    for name in ("support", "entropy"):
        shown = laid[f"Attention {name}"][0]["config"]["metricRegex"]
        assert shown == f"^attention/{name}/block[0-9]+/head[0-9]+$"
    assert re.search(laid["Sequences written"][0]["config"]["metricRegex"], "test/exact_match/16")
    assert '"confusion_matrix"' in json.dumps(laid["Confusion matrix"])
    assert "train/step_seconds" in laid["Time"][0]["config"]["metrics"]
    assert laid["Attention maps"][0]["config"]["mediaKeys"] == ["attention_maps"]


def test_tables_and_figures_of_the_dashboard_are_among_those_of_an_analysis(command: Command) -> None:
    pytest.importorskip("wandb_workspaces")
    command("dashboard", "me/mine", "save=d.json")
    laid = panels(json.loads(Path("d.json").read_text(encoding="utf-8")))
    made = find(ROOT / "results" / "reference")
    assert made is not None
    figures = {f"figures/{path.stem}" for path in made.figures}
    assert set(laid["Figures of the analysis"][0]["config"]["mediaKeys"]) <= figures
    text = json.dumps(laid["Comparison"])
    named = [f"tables/{path.stem}" for path in made.tables if f'"tables/{path.stem}"' in text]
    assert len(named) == len(laid["Comparison"]) == 6
    studies = json.dumps(laid["Lengths and attention pooling"])
    assert len(laid["Lengths and attention pooling"]) == len(dashboard.STUDIES) + 1
    assert all(f'"tables/{name}"' in studies for name in dashboard.STUDIES)
    assert set(dashboard.STUDIES) <= set(TABLES)
    drawn = laid["Lengths and attention pooling"][-1]["config"]["mediaKeys"]
    assert drawn == [f"figures/{study}" for study in dashboard.DRAWN]
    for study in dashboard.DRAWN:
        own = find(ROOT / "results" / study)
        assert own is not None
        assert study in {path.stem for path in own.figures}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "dashboard needs one ENTITY/PROJECT"),
        (("mine",), "dashboard needs one ENTITY/PROJECT"),
        ((f"me/{'p' * 129}",), f"dashboard: {'p' * 129} has 129 characters, and W&B takes 128"),
        (("me/mine", "sav=a"), "dashboard: sav is no option; did you mean save?"),
        (("me/mine", "save="), "dashboard: save is no option"),
        (
            ("me/mine", "view=https://wandb.ai/me/other?nw=a"),
            "view=https://wandb.ai/me/other?nw=a is no address of me/m",
        ),
        (
            ("me/mine", "view=https://wandb.ai/you/mine?nw=a"),
            "view=https://wandb.ai/you/mine?nw=a is no address of me/",
        ),
        (("me/mine", "view=nw-a"), "view=nw-a is no address of me/mine"),
        (("me/mine", "save=no/where"), "save=no/where cannot be written (No such file or directory)"),
    ],
)
def test_what_is_no_dashboard_is_refused(command: Command, words: tuple[str, ...], message: str) -> None:
    pytest.importorskip("wandb_workspaces")
    code, out, err = command("dashboard", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.usefixtures("fresh_wandb")
def test_without_a_key_the_message_says_what_works_without(command: Command) -> None:
    pytest.importorskip("wandb_workspaces")
    code, out, err = command("dashboard", "me/mine")
    assert (code, out) == (2, "")
    assert "dashboard: W&B has no key here (`wandb login` sets one); save=FILE writes its definition" in err


@pytest.mark.usefixtures("fresh_wandb")
def test_a_server_is_sent_what_is_written(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb_workspaces")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with serving("answers") as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        code, out, err = command("dashboard", "me/mine")
        assert code == 0, err
        ((name, layout),) = server.views.items()
    assert out == f"{server.url}/me/mine?nw={name.removeprefix('nw-').removesuffix('-v')}\n"
    command("dashboard", "me/mine", "save=d.json")
    sections = panels(json.loads(Path("d.json").read_text(encoding="utf-8")))
    assert list(panels({"layout": layout})) == list(sections)


@pytest.mark.usefixtures("fresh_wandb")
def test_a_key_that_is_not_taken_is_one_message(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb_workspaces")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with serving("401") as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        code, out, err = command("dashboard", "me/mine")
    assert (code, out) == (2, "")
    assert err.startswith("error: dashboard: W&B cannot be reached (AuthenticationError: ")
    assert err.count("\n") == 1
