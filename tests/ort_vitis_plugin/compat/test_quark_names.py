"""Scripts of quark.onnx as its documentation prints them, on the bundled network."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ort_vitis_plugin
from ort_vitis_plugin.compat import install, uninstall
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.errors import CalibrationError, OptionTypeError, UnknownNameError, UnsupportedError
from tests.models.serialized import without_provenance

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    install("quark.onnx")
    yield
    uninstall()


def quark() -> Any:
    import quark.onnx  # type: ignore[import-not-found]

    return quark.onnx


def test_a_preset_is_ours_of_that_name(tmp_path: Path) -> None:
    from quark.onnx import ModelQuantizer  # type: ignore[import-not-found]
    from quark.onnx.quantization.config import Config, get_default_config  # type: ignore[import-not-found]

    quantizer = ModelQuantizer(Config(global_quant_config=get_default_config("XINT8")))
    out = tmp_path / "q.onnx"
    assert quantizer.quantize_model(data.model_path(), str(out), data.calibration_reader(4)) is None
    made = quantizer.quantize_model(data.model_path(), None, data.calibration_reader(4))
    options = {"Preset": "XINT8"}
    ours = ort_vitis_plugin.quantize_static(data.model_path(), None, data.calibration_reader(4), extra_options=options)
    assert out.read_bytes() == ours.model.SerializeToString() == made.SerializeToString()


def test_arguments_are_read_as_ours() -> None:
    from quark.onnx.calibrate import PowerOfTwoMethod  # type: ignore[import-not-found]
    from quark.onnx.quantization.config.config import Config, QuantizationConfig  # type: ignore[import-not-found]

    said: dict[str, Any] = {
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "weight_type": quark().ExtendedQuantType.QInt16,
    }
    said["quant_format"] = quark().ExtendedQuantFormat.QDQ
    config = Config(global_quant_config=QuantizationConfig(**said, include_sq=False, ignore_warnings=True))
    made = quark().ModelQuantizer(config).quantize_model(data.model_path(), None, data.calibration_reader(4))
    result = quark().quantize_static(data.model_path(), None, data.calibration_reader(4), **said, crypto_mode=False)
    ours = ort_vitis_plugin.quantize_static(data.model_path(), None, data.calibration_reader(4), **said)
    assert without_provenance(made) == without_provenance(result.model) == without_provenance(ours.model)


def test_the_manual_s_two_functions_are_ours() -> None:
    assert quark().dump_model is ort_vitis_plugin.dump_model
    assert quark().get_library_path is ort_vitis_plugin.get_library_path


def test_finetuning_is_an_option_here() -> None:
    config = quark().QuantizationConfig(include_fast_ft=True, extra_options={"Recipe": "plain"})
    assert config.keywords["extra_options"] == {"FastFinetune": True, "Recipe": "plain"}


def test_what_is_not_here_is_refused() -> None:
    there = quark()
    with pytest.raises(UnsupportedError, match=r"include_sq=True of quark.onnx means nothing here; "):
        there.QuantizationConfig(include_sq=True)
    with pytest.raises(UnsupportedError, match=r"Config\(algo_config=\.\.\.\) of quark.onnx"):
        there.Config(there.QuantizationConfig(), algo_config=["x"])
    with pytest.raises(UnknownNameError, match="did you mean XINT8"):
        there.get_default_config("XINT9")
    with pytest.raises(OptionTypeError, match="takes Config"):
        there.ModelQuantizer({})
    with pytest.raises(CalibrationError, match="both given"):
        there.quantize_static("m.onnx", None, [], "folder")


def test_a_script_runs_by_the_verb(tmp_path: Path) -> None:
    text = "import quark.onnx\nfrom vai_q_onnx import QuantType\n"
    text += "print(quark.onnx.ModelQuantizer.__name__, QuantType.QInt8)\n"
    (tmp_path / "old.py").write_text(text, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "run", str(tmp_path / "old.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (found.stdout.split(), found.returncode) == (["ModelQuantizer", "QInt8"], 0), found.stderr
