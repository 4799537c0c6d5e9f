"""Converters that leave block floating point and microscaling nodes in place name each of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.convert import qdq_to_qoperator, standard_to_vitis, vitis_to_standard
from ort_vitis_plugin.convert.evaluation_twin import npu_to_cpu
from ort_vitis_plugin.custom_ops.domains import BLOCK_PAIRS
from ort_vitis_plugin.graph import Skip
from ort_vitis_plugin.pipeline.validation import AlreadyQuantizedWarning
from ort_vitis_plugin.testing import graph

CONVERTERS: list[Callable[..., ModelProto]] = [
    qdq_to_qoperator,
    standard_to_vitis,
    vitis_to_standard,
    npu_to_cpu,
]


def model(domain: str, op_type: str) -> ModelProto:
    values = {"w": np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)}
    found = graph("t (float[2, 16] x) => (float[2, 16] y) { q = Relu(x) y = MatMul(q, w) }", 17, values)
    found.graph.node[0].domain, found.graph.node[0].op_type, found.graph.node[0].name = domain, op_type, "block"
    found.opset_import.append(helper.make_opsetid(domain, 1))
    return found


@pytest.mark.parametrize(("domain", "op_type"), sorted(BLOCK_PAIRS))
@pytest.mark.parametrize("converter", CONVERTERS, ids=lambda converter: converter.__name__)
def test_every_converter_names_them(converter: Any, domain: str, op_type: str) -> None:
    skips: list[Skip] = []
    result = converter(model(domain, op_type), skips)
    assert [node.op_type for node in result.graph.node if (node.domain, node.op_type) in BLOCK_PAIRS] == [op_type]
    (reason,) = (skip.reason for skip in skips if skip.node == "block")
    assert "share an exponent" in reason


@pytest.mark.parametrize(("domain", "op_type"), sorted(BLOCK_PAIRS))
def test_they_count_as_quantized_in_both_spellings(domain: str, op_type: str) -> None:
    feeds = [{"x": np.zeros((2, 16), np.float32)}]
    with warnings.catch_warnings(), pytest.warns(AlreadyQuantizedWarning):
        assert quantize_static(model(domain, op_type), None, feeds).report.quantized == {}
