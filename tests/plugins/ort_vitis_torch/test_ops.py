"""Every operator of the executor against onnx's own node tests, in float32 and to a relative 1e-5."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from ort_vitis_torch.errors import OperatorError  # noqa: E402
from ort_vitis_torch.executor import OnnxModule  # noqa: E402
from ort_vitis_torch.ops import operator, operators  # noqa: E402

TOLERANCE = 1e-5
TYPES = {"float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"}

# Expected values that were typed in with four digits.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-3}
# onnxruntime divides by the whole number of outputs, onnx's reference by size * scale; the file runs on the former.
OTHERWISE = {
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}
# Operators without a node test at the newest opset.
UNTESTED = {"Scatter", "Upsample"}


@cache
def node_tests() -> list[Any]:
    """The node tests whose operators are all in the registry, in types that torch computes in."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    known = set(operators())
    return [case for case in cases if case.model is not None and _runs(case, known)]


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _runs(case: Any, known: set[tuple[str, str]]) -> bool:
    if any((node.domain.replace("ai.onnx", ""), node.op_type) not in known for node in case.model.graph.node):
        return False
    if "_expanded" in case.name or case.name in OTHERWISE or case.name.startswith("test_training_dropout"):
        return False
    arrays = [_array(array) for inputs, outputs in case.data_sets for array in (*inputs, *outputs)]
    return all(isinstance(array, (np.ndarray, np.generic)) and array.dtype.name in TYPES for array in arrays)


@cache
def by_operator() -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for case in node_tests():
        groups.setdefault(case.model.graph.node[0].op_type, []).append(case)
    return groups


@pytest.mark.slow
@pytest.mark.parametrize("op_type", sorted({op_type for domain, op_type in operators() if not domain}))
def test_the_operator_computes_what_onnx_says(op_type: str) -> None:
    if op_type not in by_operator():
        assert op_type in UNTESTED
        return
    compared = 0
    for case in by_operator()[op_type]:
        try:
            module = OnnxModule(case.model)
        except OperatorError:
            continue
        for inputs, expected in case.data_sets:
            with torch.no_grad():
                results = module(*[torch.from_numpy(np.array(_array(array))) for array in inputs])
            for result, wanted in zip(results, expected, strict=True):
                _compare(case.name, result.numpy(), np.asarray(_array(wanted)))
                compared += 1
    assert compared


def _compare(name: str, result: Any, wanted: Any) -> None:
    assert result.shape == wanted.shape, name
    assert result.dtype == wanted.dtype, name
    size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0) if wanted.dtype.kind == "f" else 0
    bound = ROUNDED.get(name, TOLERANCE)
    np.testing.assert_allclose(result, wanted, rtol=bound, atol=bound * float(size), err_msg=name)


@pytest.mark.slow
def test_there_are_at_least_seventy_operators_with_a_node_test() -> None:
    assert len(by_operator()) >= 70
    assert len(list(operators())) >= 110


def test_an_operator_that_is_missing_is_named_with_its_node_and_the_way_to_add_it() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "my": 1]> g (float[2] x) => (float[2] y) {[cube] y = my.Cube(x)}'
    )
    with pytest.raises(OperatorError, match=r"no my::Cube \(node 'cube'\); register one with ort_vitis_torch.operator"):
        OnnxModule(model)

    @operator("Cube", domain="my")
    def cube(attributes: Any) -> Any:
        return lambda x: x**3

    assert OnnxModule(model)(torch.tensor([2.0, 3.0]))[0].tolist() == [8.0, 27.0]
