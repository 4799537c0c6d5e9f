"""The library is found wherever it may be, schemas are registered on demand, and importing does nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.custom_ops import library
from ort_vitis_plugin.errors import LibraryNotFoundError, UnsupportedError


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder without a library, and no distribution."""

    def missing(name: str) -> Any:
        raise library.metadata.PackageNotFoundError(name)

    package = tmp_path / "checkout" / "ort_vitis_plugin"
    package.mkdir(parents=True)
    monkeypatch.setattr(library, "PACKAGE", package)
    monkeypatch.setattr(library.metadata, "distribution", missing)
    return package


def test_no_library(nowhere: Path) -> None:
    with pytest.raises(LibraryNotFoundError, match=r"was not built .*cmake -S \. -B build") as caught:
        custom_ops.get_library_path()
    assert str(nowhere) in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert custom_ops.find_library() is None
    assert custom_ops.register(ort.SessionOptions()) is False


def test_beside_the_package(nowhere: Path) -> None:
    (nowhere / library.LIBRARY_NAME).touch()
    assert custom_ops.get_library_path() == str(nowhere / library.LIBRARY_NAME)


def test_in_a_checkout_after_a_build(nowhere: Path) -> None:
    build = nowhere.parent / "build"
    build.mkdir()
    (build / library.LIBRARY_NAME).touch()
    assert custom_ops.find_library() is None  # a folder called build beside an installed package means nothing
    (nowhere.parent / "CMakeLists.txt").touch()
    assert custom_ops.get_library_path("CPU") == str(build / library.LIBRARY_NAME)


def test_in_the_installed_distribution(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable install imports the checkout and keeps the library in site-packages."""
    site = nowhere.parent.parent / "site-packages"
    (site / "ort_vitis_plugin").mkdir(parents=True)
    (site / "ort_vitis_plugin" / library.LIBRARY_NAME).touch()

    class Distribution:
        def locate_file(self, name: str) -> Path:
            return site / name

    monkeypatch.setattr(library.metadata, "distribution", lambda name: Distribution())
    assert custom_ops.get_library_path() == str(site / "ort_vitis_plugin" / library.LIBRARY_NAME)


@pytest.mark.parametrize("device", ["gpu", "cuda", "ROCM", ""])
def test_other_devices(device: str) -> None:
    with pytest.raises(UnsupportedError, match=f"device '{device}'; use 'cpu'"):
        custom_ops.get_library_path(device)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        custom_ops.nothing  # noqa: B018


def typed_model() -> onnx.ModelProto:
    """x -> Q -> DQ of int16, with no types inside."""
    nodes = [
        helper.make_node("VitisQuantizeLinear", ["x", "s", "z"], ["q"], domain=custom_ops.VAI_DOMAIN),
        helper.make_node("VitisDequantizeLinear", ["q", "s", "z"], ["d"], domain=custom_ops.VAI_DOMAIN),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "typed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, "N"])],
        [helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("z", TensorProto.INT16, [], [0])],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(custom_ops.VAI_DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def test_schemas() -> None:
    custom_ops.register_schemas()
    custom_ops.register_schemas()
    model = typed_model()
    onnx.checker.check_model(model, full_check=True, check_custom_domain=True)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    types = {value.name: value.type.tensor_type for value in inferred.graph.value_info}
    assert types["q"].elem_type == TensorProto.INT16
    assert types["d"].elem_type == TensorProto.FLOAT
    assert [dim.dim_value or dim.dim_param for dim in types["q"].shape.dim] == [2, "N"]
    model.graph.node[0].op_type = "VitisQuantiseLinear"
    with pytest.raises(onnx.checker.ValidationError, match="VitisQuantiseLinear"):
        onnx.checker.check_model(model, check_custom_domain=True)


def test_schemas_with_functions_in_the_model() -> None:
    custom_ops.register_schemas()
    model = typed_model()
    custom_ops.add_functions(model)
    onnx.checker.check_model(model, full_check=True, check_custom_domain=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def test_importing_changes_nothing() -> None:
    """No numpy-heavy module, no schema, before a name is used."""
    code = (
        "import sys, ort_vitis_plugin.custom_ops as ops\n"
        "assert not [m for m in sys.modules if m.startswith('ort_vitis_plugin.custom_ops.')]\n"
        "import onnx.defs\n"
        "ops.quantize_linear, ops.reference_ops\n"
        "assert not onnx.defs.has('VitisQuantizeLinear', 'com.vai.quantize')\n"
        "ops.register_schemas()\n"
        "assert onnx.defs.has('VitisQuantizeLinear', 'com.vai.quantize')\n"
    )
    root = Path(__file__).resolve().parents[3]
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{root}:{root / 'plugins'}", "PATH": "", "ORT_VITIS_ATTACH": "0"},
    )
    assert result.returncode == 0, result.stderr


def test_reference_by_hand() -> None:
    """Numbers that a reader can check: ties to even, the zero point after rounding, saturation, NaN, infinities."""
    x = np.array([0.5, 1.5, -0.5, 2.4, 1000, np.nan, np.inf, -np.inf], np.float32)
    q = custom_ops.quantize_linear(x, 1.0, np.int8(1))
    np.testing.assert_array_equal(q, [1, 3, 1, 3, 127, -128, 127, -128])
    np.testing.assert_array_equal(custom_ops.dequantize_linear(q, 1.0, np.int8(1)), [0, 2, 0, 2, 126, -129, 126, -129])
    np.testing.assert_array_equal(custom_ops.fix_neuron(x, 1.0, np.int8(0), 3), [0, 2, 0, 2, 3, -4, 3, -4])
    np.testing.assert_array_equal(custom_ops.quantize_linear([3e9, -3e9], 1.0, np.int32(0)), [2**31 - 1, -(2**31)])
    np.testing.assert_array_equal(custom_ops.quantize_linear([70000.0, 1 + 2**-11], 1.0, np.float16(0)), [65504, 1])
