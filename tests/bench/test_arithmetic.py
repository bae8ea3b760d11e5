"""Precision and compilation: other arithmetic, the same function."""

import pytest
import torch

from bench import inputs
from bench.arithmetic import Forward
from bench.run import make_model
from tests.bench.helpers import config, run

CPU = torch.device("cpu")


def classifier(*words):
    chosen = config("model.dropout=0", *words, normalizer="entmax15")
    model = make_model(chosen, inputs.shape(chosen, inputs.arrays(chosen)), CPU)
    return model, torch.rand(8, 16, 4, generator=torch.Generator().manual_seed(0))


def test_bf16_is_close_to_float32_and_not_equal():
    model, x = classifier()
    exact, coarse = Forward(model, "float32", CPU, False)(x), Forward(model, "bf16", CPU, False)(x)
    assert exact.dtype == coarse.dtype == torch.float32
    assert not torch.equal(exact, coarse)
    torch.testing.assert_close(coarse, exact, atol=0.03, rtol=0.03)
    coarse.sum().backward()
    assert {p.grad.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.slow
def test_a_compiled_model_computes_the_same_scores_and_gradients():
    model, x = classifier("model.blocks=1")  # a second block would be compiled as the first is, in as many seconds
    results = []
    for compiled in (False, True):
        model.zero_grad()
        scores = Forward(model, "float32", CPU, compiled)(x)
        scores.logsumexp(-1).sum().backward()
        results.append([scores.detach(), *(p.grad.clone() for p in model.parameters())])
    for plain, made in zip(*results, strict=True):
        torch.testing.assert_close(made, plain, atol=1e-5, rtol=1e-4)


def test_a_run_in_bf16_is_a_run_of_another_setting(tiny):
    usual, coarse = run(config(*tiny)), run(config(*tiny, "train.precision=bf16"))
    assert coarse.status == "completed"
    assert coarse.config["train"]["precision"] == "bf16"
    assert coarse.setting != usual.setting
    assert coarse.metrics["test_loss"] == pytest.approx(usual.metrics["test_loss"], rel=0.05)
    assert coarse.metrics["test_loss"] != usual.metrics["test_loss"]
