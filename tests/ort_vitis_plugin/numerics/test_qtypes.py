"""Types know their bits and limits; enums are those of the manuals."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ort_vitis_plugin.errors import UnsupportedError
from ort_vitis_plugin.numerics.qtypes import Scaling, host_qtype, storage_dtype

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32"]


@pytest.mark.parametrize("name", INTEGERS)
def test_limits_are_numpys(name: str) -> None:
    kind = host_qtype(f"Q{'UInt' if name[0] == 'u' else 'Int'}{name.strip('uint')}")
    info = np.iinfo(name)
    assert (kind.min, kind.max, kind.bits) == (info.min, info.max, info.bits)
    assert storage_dtype(kind) == np.dtype(name)
    assert kind.is_signed == (info.min < 0)
    assert kind.is_wide == (info.bits > 8)


@pytest.mark.parametrize("name", ["QInt4", "QUInt4", "QBFloat16", "QFLOAT8E4M3FN"])
def test_types_beyond_numpys_do_not_hang_on_the_release_of_onnx(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = storage_dtype(host_qtype(name))
    monkeypatch.setattr(onnx.helper, "tensor_dtype_to_np_dtype", lambda kind: np.dtype("float32"))  # as before 1.19
    assert storage_dtype(host_qtype(name)) == now != np.float32


def test_floats() -> None:
    assert host_qtype("QFloat16").max == np.finfo(np.float16).max
    assert float(host_qtype("QBFloat16").max) == float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    assert storage_dtype(host_qtype("QBFloat16")) == ml_dtypes.bfloat16
    assert not host_qtype("QFloat16").is_integer
    assert host_qtype("QFLOAT8E4M3FN").max == float(ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).max)


@pytest.mark.parametrize(
    ("name", "scaling"),
    [
        ("QUInt4", Scaling.AFFINE),
        ("QInt32", Scaling.AFFINE),
        ("QBFloat16", Scaling.UNIT),
        ("QFLOAT8E4M3FN", Scaling.LINEAR),
    ],
)
def test_a_type_says_which_parameters_go_with_its_codes(name: str, scaling: Scaling) -> None:
    assert host_qtype(name).scaling is scaling


@pytest.mark.parametrize(
    ("name", "symmetric", "reduced"),
    [("QInt8", 0, (-64, 64)), ("QUInt8", 128, (0, 127)), ("QUInt16", 32768, (0, 32767)), ("QFloat16", 0, None)],
)
def test_zero_points_and_reduced_ranges(name: str, symmetric: int, reduced: tuple[int, int] | None) -> None:
    kind = host_qtype(name)
    assert kind.symmetric_zero_point() == symmetric
    assert kind.limits(reduce_range=True) == (reduced or (kind.min, kind.max))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (QuantType.QInt8, "QInt8"),
        (QuantType.QUInt16, "QUInt16"),
        (VitisQuantType.QBFloat16, "QBFloat16"),
        (onnx.TensorProto.UINT8, "QUInt8"),
        ("QInt32", "QInt32"),
        (host_qtype("QInt4"), "QInt4"),
    ],
)
def test_a_type_is_known_by_all_its_names(given: object, name: str) -> None:
    assert str(host_qtype(given)) == name


@pytest.mark.parametrize("given", ["QInt7", 999, None, 1.5])
def test_what_is_no_type_is_refused(given: object) -> None:
    with pytest.raises(UnsupportedError, match="is not a quantization type"):
        host_qtype(given)


def test_enums_have_the_manuals_values() -> None:
    assert {kind.name: kind.value for kind in VitisQuantType if kind.is_built_in} == {
        "QInt16": 3,
        "QUInt16": 4,
        "QInt32": 5,
        "QUInt32": 6,
        "QFloat16": 7,
        "QBFloat16": 8,
    }
    assert (VitisQuantFormat.QDQ.value, VitisQuantFormat.FixNeuron.value) == (2, 3)
    assert [method.name for method in PowerOfTwoMethod] == ["NonOverflow", "MinMSE"]
    assert VitisQuantType.QInt16.bits == 16
    assert VitisQuantType.QInt16.min == -32768
    assert VitisQuantType.QUInt16.tensor_type == onnx.TensorProto.UINT16


def test_enums_print_and_parse_their_names() -> None:
    for kind in (*VitisQuantType, *VitisQuantFormat, *PowerOfTwoMethod):
        assert type(kind).from_string(str(kind)) is kind
    with pytest.raises(ValueError, match="did you mean QInt16"):
        VitisQuantType.from_string("QInt61")


def test_what_no_plugin_declares_is_named() -> None:
    others = [kind for kind in VitisQuantType if not kind.is_built_in]
    assert others
    for kind in others:
        with pytest.raises(UnsupportedError, match=f"{kind.name}: {kind.value}> is a type that no plugin here de"):
            host_qtype(kind)


def test_names_beyond_the_hosts_are_suggested() -> None:
    with pytest.raises(UnsupportedError, match=r"QInt8, .*QMine.; did you mean QMine"):
        host_qtype("QMin", ["QMine"])
