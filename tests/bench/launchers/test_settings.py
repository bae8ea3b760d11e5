"""Settings of launchers: what is refused, and that the files of the configuration hold what is asked for."""

from typing import Any

import pytest
from omegaconf import OmegaConf

from bench.launchers.settings import LocalSettings, RaySettings, Settings, SlurmSettings, check_runs, validate_settings
from bench.schema import ConfigError
from tests.bench.helpers import CONF

KINDS = {"submitit_local": LocalSettings, "submitit_slurm": SlurmSettings, "ray": RaySettings}


def content(name: str, **changes: Any) -> dict[str, Any]:
    """The file of a launcher without its target, and with `changes`."""
    node = OmegaConf.to_container(OmegaConf.load(CONF / "hydra" / "launcher" / f"{name}.yaml"))
    assert isinstance(node, dict)
    node.pop("_target_")
    return {str(key): value for key, value in node.items()} | changes


@pytest.mark.parametrize("name", KINDS)
def test_each_file_holds_exactly_the_settings_of_its_launcher(name: str) -> None:
    assert content(name).keys() == KINDS[name].model_fields.keys()
    assert isinstance(validate_settings(content(name), KINDS[name]), Settings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cpus": 0}, r"^hydra.launcher.cpus=0: input should be greater than or equal to 1, got int$"),
        ({"minutes": 1.5}, "^hydra.launcher.minutes=1.5: input should be a valid integer, got float$"),
        ({"setup": "module load x"}, "^hydra.launcher.setup='module load x': input should be a valid list, got str$"),
        ({"partion": "gpu"}, "^hydra.launcher.partion is not a setting of this launcher; did you mean partition"),
        (
            {"options": {"time": "1:00:00"}},
            "^hydra.launcher.options: time is set by the launcher; use hydra.launcher.minutes$",
        ),
        ({"options": {"--array": "0-9"}}, "^hydra.launcher.options: array is set by the launcher; leave it out$"),
        ({"retries": -1, "runs_per_job": None}, "hydra.launcher.runs_per_job=None: .*\nhydra.launcher.retries=-1: "),
    ],
)
def test_a_bad_setting_is_named_with_its_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate_settings(content("submitit_slurm", **changes), SlurmSettings)


def test_a_setting_left_out_is_named() -> None:
    some = content("ray")
    del some["retries"]
    with pytest.raises(
        ConfigError, match=r"^hydra.launcher.retries is missing; give it as hydra.launcher.retries=VALUE$"
    ):
        validate_settings(some, RaySettings)


def test_runs_that_a_job_has_no_room_for_are_refused() -> None:
    raws = [{"threads": 2, "device": "auto"}, {"threads": 4, "device": "cuda"}]
    with pytest.raises(
        ConfigError, match=r"^threads=4 is more than hydra.launcher.cpus=2; leave cpus out, or raise it$"
    ):
        check_runs(SlurmSettings(**content("submitit_slurm", cpus=2)), raws)
    with pytest.raises(
        ConfigError, match=r"^device=cuda: jobs are given no GPU; ask for one with hydra.launcher.gpus=1$"
    ):
        check_runs(SlurmSettings(**content("submitit_slurm", cpus=4)), raws)
    check_runs(RaySettings(**content("ray", gpus=0.25)), raws)
