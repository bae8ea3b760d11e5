import pytest
import torch

from bench.streams import global_stream, stream, stream_seed


@pytest.mark.parametrize(
    ("seed", "name", "expected"),
    [
        (0, "weights", 7388263408636359099),
        (0, "dropout", 6289530383798674994),
        (1, "weights", 6921093961725178177),
        (9, "batches", 5059848314691214760),
    ],
)
def test_seeds_are_these_constants_for_ever(seed: int, name: str, expected: int) -> None:
    # Another value here means that every recorded run would come out otherwise: raise fingerprint.PROTOCOL.
    assert stream_seed(seed, name) == expected


def test_seeds_of_all_names_and_runs_differ_and_fit_a_generator() -> None:
    names = ("weights", "normalizer", "dropout", "batches", "noise")
    seeds = [stream_seed(seed, name) for seed in (*range(1000), 10**9, 2**63 - 1) for name in names]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_what_one_stream_draws_does_not_shift_another() -> None:
    one, other = stream(3, "batches"), stream(3, "dropout")
    torch.rand(17, generator=other)
    assert torch.equal(torch.rand(5, generator=one), torch.rand(5, generator=stream(3, "batches")))


def test_the_global_generator_is_set_inside_and_put_back_even_after_an_error() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with pytest.raises(KeyError), global_stream(0, "weights"):  # noqa: PT012 (what was drawn is compared)
        inside = torch.rand(3)
        raise KeyError
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(inside, torch.rand(3, generator=stream(0, "weights")))
