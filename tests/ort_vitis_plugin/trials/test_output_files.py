"""What a search leaves beside its model is refused before work where it would replace what the call reads."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.errors import OptionError, OutputError, QuantizationError
from ort_vitis_plugin.testing import graph
from ort_vitis_plugin.trials.output_files import output_files
from ort_vitis_plugin.trials.tune import tune

MODEL = graph("t (float[1,4] x) => (float[1,4] y) { y = Relu(x) }")
FEEDS = [{"x": np.ones((1, 4), np.float32)}] * 2


def test_they_bear_the_name_of_the_model() -> None:
    assert output_files("a/my.net.onnx") == (Path("a/my.net.toml"), Path("a/my.net.trials.jsonl"))


@pytest.mark.parametrize("stream", ["-", "/dev/stdout"])
def test_a_stream_has_nothing_beside_it(stream: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="give a file name"):
        tune(MODEL, FEEDS, out=stream)
    assert not [*tmp_path.iterdir()]


def test_a_model_is_no_file_beside_itself(tmp_path: Path) -> None:
    out = tmp_path / "net.toml"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(QuantizationError, match="choose another file name"):
        tune(MODEL, FEEDS, out=out)
    assert out.read_text(encoding="utf-8") == "mine"


def test_a_configuration_that_no_search_left_is_not_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "net.toml"
    mine.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"no search left it \(there is no net.trials.jsonl\); choose another output"):
        tune(MODEL, FEEDS, out=tmp_path / "net.onnx")
    assert mine.read_text(encoding="utf-8") == "mine"
    (tmp_path / "net.trials.jsonl").touch()
    output_files(tmp_path / "net.onnx").check()


@pytest.mark.parametrize("line", ["tune", "quantize --preset auto"])
def test_a_configuration_that_is_read_is_not_replaced(
    line: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    onnx.save(MODEL, tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", x=np.ones((4, 4), np.float32))
    (tmp_path / "mine.toml").write_text('preset = "cpu"\n', encoding="utf-8")
    files = [str(tmp_path / name) for name in ("m.onnx", "d.npz", "mine.toml", "mine.onnx")]
    verb, *more = line.split()
    assert main([verb, files[0], "--data", files[1], "--config", files[2], "-o", files[3], *more]) == 2
    assert "is the configuration, which is never overwritten" in capfd.readouterr().err
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == 'preset = "cpu"\n'
    assert not (tmp_path / "mine.onnx").exists()
