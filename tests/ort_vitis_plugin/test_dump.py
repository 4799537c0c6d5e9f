"""Dumped codes are those that the model computes; names and index are as the manual has them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin import QuantFormat, VitisQuantFormat, VitisQuantType, dump_model, quantize_static
from ort_vitis_plugin.errors import CalibrationError, OutputError, UnsupportedError
from tests.models import networks

if TYPE_CHECKING:
    from pathlib import Path


def quantized(**given: Any) -> onnx.ModelProto:
    return quantize_static(networks.network("digits"), None, networks.reader("digits", 4), **given).model


def index_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {entry["tensor"]: entry for entry in json.loads((folder / "index.json").read_text())}


@pytest.mark.parametrize(
    ("quant_format", "kind", "dtype"),
    [
        (QuantFormat.QDQ, None, "int8"),
        (VitisQuantFormat.FixNeuron, None, "int8"),
        (VitisQuantFormat.QDQ, VitisQuantType.QInt16, "int16"),
        (VitisQuantFormat.QDQ, VitisQuantType.QInt32, "int32"),
        (VitisQuantFormat.QDQ, VitisQuantType.QBFloat16, "bfloat16"),
    ],
    ids=["native QDQ", "FixNeuron", "int16", "int32", "bfloat16"],
)
def test_codes_of_the_input(quant_format: Any, kind: Any, dtype: str, tmp_path: Path) -> None:
    given = {} if kind is None else {"activation_type": kind, "weight_type": kind}
    model = quantized(quant_format=quant_format, extra_options={"ActivationSymmetric": True}, **given)
    feed = networks.digits("digits", 1, 1).calibration[0]
    dump_model(model, [feed], output_dir=tmp_path)
    entry = index_of(tmp_path)["image_DequantizeLinear_Output"]
    assert (entry["dtype"], entry["file"], entry["shape"]) == (dtype, "image_DequantizeLinear_Output.bin", [1, 1, 8, 8])
    raw = (tmp_path / entry["file"]).read_bytes()
    text = np.loadtxt(tmp_path / "image_DequantizeLinear_Output.txt")
    if dtype == "bfloat16":
        np.testing.assert_allclose(text, feed["image"].ravel(), rtol=2**-8)
        assert len(raw) == 2 * feed["image"].size
        return
    codes = np.frombuffer(raw, dtype)
    wanted = np.rint(feed["image"].ravel().astype(np.float64) * 2.0 ** entry["pos"])
    np.testing.assert_array_equal(codes, np.clip(wanted, np.iinfo(dtype).min, np.iinfo(dtype).max))
    np.testing.assert_array_equal(text, codes)


def test_weights_and_slashes(tmp_path: Path) -> None:
    dump_model(quantized(quant_format=VitisQuantFormat.FixNeuron), output_dir=tmp_path)
    names = [path.name for path in tmp_path.iterdir()]
    assert not any("/" in name for name in names)
    entries = index_of(tmp_path)
    slashed = next(name for name in entries if name.startswith("/"))
    assert entries[slashed]["file"] == slashed.replace("/", "_") + ".bin"
    weights = [entry for entry in entries.values() if len(entry["shape"]) == 4 and "weight" in entry["tensor"]]
    assert weights
    assert all((tmp_path / entry["file"]).stat().st_size == np.prod(entry["shape"]) for entry in weights)


def test_floats_are_floats(tmp_path: Path) -> None:
    model = quantized(quant_format=VitisQuantFormat.FixNeuron)
    feed = networks.digits("digits", 1, 1).calibration[0]
    dump_model(model, [feed], dump_float=True, output_dir=tmp_path)
    values = np.fromfile(tmp_path / "image_DequantizeLinear_Output_float.bin", np.float32)
    assert np.abs(values - feed["image"].ravel()).max() < 0.01
    assert (tmp_path / "logits_float.txt").is_file()


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no quantized tensor"):
        dump_model(networks.network("digits"), output_dir=tmp_path / "a")
    assert not (tmp_path / "a").exists()
    with pytest.raises(CalibrationError, match="no batch"):
        dump_model(quantized(), [], output_dir=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        dump_model(quantized(), output_dir=tmp_path / "file" / "folder")
