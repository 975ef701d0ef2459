"""JPEG files into grey values: what a pixel is, damaged files, and a run that goes on."""

import numpy as np
import pytest

from lab.paper.mimic import images
from lab.paper.mimic.images import read_image, read_images
from mimic.needed import needed
from mmdbounds.errors import DataError

Image = needed("PIL.Image")
needed("torch")
needed("monai")
pytestmark = pytest.mark.full


def write(path, grey, **options):
    Image.fromarray(np.asarray(grey, dtype=np.uint8)).save(path, format="JPEG", quality=95, **options)
    return path


@pytest.fixture
def files(tmp_path):
    return [write(tmp_path / f"{i}.jpg", np.full((40, 50), 20 * i)) for i in range(8)]


@pytest.mark.parametrize(("height", "width"), [(64, 64), (300, 200), (1024, 1280)])
def test_a_pixel_is_the_mean_around_its_place(tmp_path, height, width):
    rows, columns = np.mgrid[0:height, 0:width]
    grey = 40 + 100 * rows / height + 80 * columns / width
    found = read_image(write(tmp_path / "a.jpg", grey), 32)
    places = (np.arange(32) + 0.5) / 32
    expected = 40 + 100 * places[:, None] + 80 * places[None, :]
    assert found.shape == (32, 32)
    assert found.dtype == np.uint8
    inner = (slice(1, -1), slice(1, -1))  # at the border there is less to average over
    np.testing.assert_allclose(found[inner], expected[inner], rtol=0, atol=2.5)


def test_colours_become_grey(tmp_path):
    path = tmp_path / "a.jpg"
    Image.fromarray(np.full((40, 40, 3), (200, 100, 50), dtype=np.uint8)).save(path, quality=95)
    np.testing.assert_allclose(read_image(path, 32), 0.299 * 200 + 0.587 * 100 + 0.114 * 50, rtol=0, atol=2)


def test_unreadable_files_are_named_in_one_line(tmp_path, files, monkeypatch):
    cut = tmp_path / "cut.jpg"
    noise = write(tmp_path / "noise.jpg", np.random.default_rng(0).integers(0, 255, size=(64, 64)))
    cut.write_bytes(noise.read_bytes()[:-1000])
    png = tmp_path / "png.jpg"
    Image.new("L", (40, 40)).save(png, format="PNG")
    empty = tmp_path / "empty.jpg"
    empty.touch()
    for path, match in (
        (cut, "truncated"),
        (png, "not a JPEG"),
        (empty, "not a JPEG"),
        (tmp_path / "no.jpg", "No such"),
    ):
        with pytest.raises(
            DataError, match=rf"the image '.*{path.name}' cannot be read: .*{match}"
        ) as caught:
            read_image(path, 32)
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(images, "MAX_PIXELS", 1999)
    with pytest.raises(DataError, match="50 x 40 pixels are too many"):
        read_image(files[0], 32)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 900)
    with pytest.raises(DataError, match=r"cannot be read: Image size .2000 pixels. exceeds"):
        read_image(files[0], 32)


def test_damaged_images_are_left_out_up_to_a_limit(tmp_path, files):
    for i in (2, 5):
        files[i].write_bytes(b"no image")
    with pytest.raises(DataError, match=r"'.*2\.jpg' cannot be read.*so far: 1, and `max_damaged` is 0"):
        read_images(files, 32, tmp_path)
    with pytest.raises(DataError, match=r"'.*5\.jpg' cannot be read.*so far: 2, and `max_damaged` is 1"):
        read_images(files, 32, tmp_path, max_damaged=1)
    pixels, readable = read_images(files, 32, tmp_path, max_damaged=2)
    assert np.flatnonzero(~readable).tolist() == [2, 5]
    assert [int(image.mean()) for image in pixels] == [0, 20, 0, 60, 80, 0, 120, 140]
    write(files[2], np.full((40, 40), 200))  # one of them was downloaded again
    pixels, readable = read_images(files, 32, tmp_path, max_damaged=1)
    assert np.flatnonzero(~readable).tolist() == [5]
    assert int(pixels[2].mean()) == 200


def test_a_killed_run_reads_only_what_is_left(tmp_path, files, monkeypatch):
    monkeypatch.setattr(images, "BATCH", 3)
    said = []

    def say(line):
        said.append(line)
        if len(said) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_images(files, 32, tmp_path, say=say)
    assert said == ["3 of 8 images read", "6 of 8 images read"]
    for path in files[:6]:
        path.unlink()
    pixels, readable = read_images(files, 32, tmp_path, say=said.append)
    assert said[2:] == ["2 of 2 images read"]
    assert readable.all()
    assert [int(image.mean()) for image in pixels] == [20 * i for i in range(8)]
    assert read_images(files, 32, tmp_path, say=said.append)[1].all()
    assert len(said) == 3


def test_an_array_of_another_run_is_refused(tmp_path, files):
    read_images(files, 32, tmp_path)
    with pytest.raises(DataError, match=r"images-32\.npy' is damaged or belongs to another run"):
        read_images(files[:5], 32, tmp_path)
    (tmp_path / "images-32.npy").write_bytes(b"something")
    with pytest.raises(DataError, match=r"images-32\.npy' is damaged"):
        read_images(files, 32, tmp_path)
