import numpy as np
import pytest

from datasets import channel_statistics, patches


def test_patches_of_a_known_image_are_row_major() -> None:
    image = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1)
    expected = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    assert patches(image, 2).tolist() == [expected]


def test_patches_keep_channels_last_and_rectangles_apart() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(3, 4, 6, 2), dtype=np.uint8)
    found = patches(images, 2)
    assert found.shape == (3, 6, 8)
    assert found.dtype == np.uint8
    for token in range(6):
        row, column = 2 * (token // 3), 2 * (token % 3)
        assert np.array_equal(found[:, token], images[:, row : row + 2, column : column + 2].reshape(3, -1))


@pytest.mark.parametrize("patch", [0, -1, 3, 5])
def test_a_patch_that_does_not_divide_is_named_with_those_that_do(patch: int) -> None:
    with pytest.raises(ValueError, match=rf"patch={patch} does not divide images of 4x8; choose one of \[1, 2, 4\]"):
        patches(np.zeros((1, 4, 8, 1), dtype=np.uint8), patch)


def test_channel_statistics_equal_numpy_on_scaled_pixels() -> None:
    images = np.random.default_rng(1).integers(0, 256, size=(7, 5, 4, 3), dtype=np.uint8)
    mean, std = channel_statistics(images, 255.0)
    scaled = images / 255.0
    np.testing.assert_allclose(mean, scaled.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(std, scaled.std(axis=(0, 1, 2)), rtol=1e-12)


def test_channel_statistics_of_known_pixels() -> None:
    images = np.array([0, 16, 0, 16], dtype=np.uint8).reshape(1, 2, 2, 1)
    mean, std = channel_statistics(images, 16.0)
    assert (mean.tolist(), std.tolist()) == ([0.5], [0.5])
