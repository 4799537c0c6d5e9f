"""The flags that say where samples come from, the same for every verb; pictures with labels on the bundled network."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo import data

Image = pytest.importorskip("PIL.Image")

SAMPLES = 20
STEP = 15  # of a pixel in the picture per step of 16; the network takes them from 0 to 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with model.onnx, imgs/CLASS/NUMBER.png, and the same as samples.npz."""
    shutil.copy(data.model_path(), tmp_path / "model.onnx")
    feeds, labels = data.evaluation_feeds(SAMPLES), data.evaluation_labels(SAMPLES)
    for number, (feed, label) in enumerate(zip(feeds, labels, strict=True)):
        file = tmp_path / "imgs" / str(label) / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.round(feed[data.INPUT][0, 0] * 16 * STEP).astype(np.uint8)).save(file)
    np.savez(tmp_path / "samples.npz", image=np.concatenate([feed[data.INPUT] for feed in feeds]))
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def gray(picture):\n"
        f"    return np.asarray(picture.convert('L'), np.float32)[None] / {16 * STEP}\n"
        "def broken(picture):\n"
        "    raise KeyError('pixel')\n"
        "def nothing(picture):\n"
        "    pass\n"
        "def double(row):\n"
        "    return row * np.float32(1)\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> int:
    return main(line.split())


def right(text: str) -> list[float]:
    return [float(share) for share in re.findall(r"([\d.]+)%", text[text.index("right:") :])]


def test_pictures_quantize_and_evaluate_as_arrays_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scale = f"--scale {1 / (16 * STEP)}"
    for name, flags in (
        ("a", f"--data imgs {scale}"),
        ("b", "--data samples.npz"),
        ("c", "--data imgs --preprocess mine.py:gray"),
    ):
        assert run(f"quantize model.onnx -o {name}.onnx {flags} --preset ipu_cnn -q") == 0
        assert run(f"evaluate model.onnx {name}.onnx --data imgs {scale}") == 0
    shares = [right(part) for part in capsys.readouterr().out.split("Against float")[1:]]
    assert shares[0] == shares[1] == shares[2]
    expected = [np.argmax(_logits(feed)) for feed in data.evaluation_feeds(SAMPLES)] == data.evaluation_labels(SAMPLES)
    assert shares[0][0] == round(100 * float(np.mean(expected)), 2)


def _logits(feed: dict[str, np.ndarray]) -> np.ndarray:
    import onnxruntime as ort

    found: np.ndarray = ort.InferenceSession(data.model_path()).run(None, feed)[0]
    return found


def test_arrays_have_no_labels_and_show_no_accuracy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate model.onnx model.onnx --data samples.npz --samples 3") == 0
    assert "right:" not in capsys.readouterr().out


def test_samples_are_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("1", "1", "2"):
        flags = ["--samples", "5", "--seed", seed]
        assert main(["evaluate", "model.onnx", "model.onnx", "--data", "imgs", *flags]) == 0
    assert capsys.readouterr().out.count("(5 samples with labels)") == 3


@pytest.mark.parametrize("verb", ["calibrate model.onnx -o c.npz", "errors model.onnx q.onnx", "dump q.onnx"])
def test_every_verb_with_samples_takes_pictures(verb: str, folder: Path) -> None:
    if "q.onnx" in verb:
        assert run("quantize model.onnx -o q.onnx --data imgs --samples 4 -q") == 0
    assert main([*verb.split(), "--data", "imgs", "--samples", "4", "--layout", "NCHW", "--color", "L"]) == 0


def test_a_function_takes_arrays_too(folder: Path) -> None:
    for name, more in (("a", ""), ("b", "--preprocess mine.py:double")):
        assert run(f"quantize model.onnx -o {name}.onnx --data samples.npz {more} -q") == 0
    assert (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()


REFUSED = {
    "--data imgs --resize 16": "becomes 16x16, but the model takes 8x8",
    "--data imgs --resize 8x9x3": "--resize takes pixels or HEIGHTxWIDTH, not '8x9x3'",
    "--data imgs --crop big": "--crop takes pixels",
    "--data imgs --color RGB": "say color='L' (--color L)",
    "--data imgs --mean 1 2": "mean holds 2 numbers for 1 channels (L)",
    "--data imgs --preprocess yolov": "did you mean yolo",
    "--data imgs --preprocess mine.py:grey": "did you mean gray",
    "--data imgs --preprocess mine.py:broken": "mine.py, line 5), raised by the transform of 'imgs/0/",
    "--data imgs --preprocess mine.py:nothing": "--preprocess returns NoneType for 'imgs/0/",
    "--data imgs --samples 0": "--samples takes a whole number from 1 on",
    "--data img": "does not exist; did you mean imgs",
    "--data samples.npz --crop 8": "--crop is for pictures, but 'samples.npz' holds arrays",
    "--data samples.npz --preprocess imagenet": "--preprocess is for pictures",
    "--crop 8": "--crop says how to read samples, but there are none; add --data PATH",
    "--data broken": "cannot be read: it is no picture",
}


@pytest.mark.parametrize("flags", REFUSED)
def test_refuses_in_one_line_and_writes_nothing(flags: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "a.png").write_bytes(b"text")
    before = sorted(folder.iterdir())
    assert run(f"quantize model.onnx -o q.onnx {flags}") == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert REFUSED[flags] in told[0]
    assert sorted(folder.iterdir()) == before


def test_labels_that_are_no_class_of_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "imgs" / "9").rename(folder / "imgs" / "10")
    assert run("evaluate model.onnx model.onnx --data imgs") == 2
    assert "have the label 10, but the model's output has 10 classes, from 0 to 9" in capsys.readouterr().err


def test_outputs_that_rank_nothing_have_no_accuracy(
    folder: Path, capsys: pytest.CaptureFixture[str], graph: Callable[[str], onnx.ModelProto]
) -> None:
    onnx.save(graph("t (float[1, 1, 8, 8] image) => (float[1, 1, 8, 8] y) { y = Tanh(image) }"), folder / "map.onnx")
    assert run("evaluate map.onnx map.onnx --data imgs") == 2
    assert "no output of the model ranks classes" in capsys.readouterr().err
