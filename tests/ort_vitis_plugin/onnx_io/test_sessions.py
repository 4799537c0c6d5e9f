"""Sessions are quiet and on the CPU, and a library that cannot be loaded is named."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnxruntime as ort
import pytest

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.onnx_io.sessions import FAITHFUL, open_session, register_all, session_options
from ort_vitis_plugin.testing import graph

MODEL = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")


def test_options() -> None:
    options = session_options()
    assert (options.graph_optimization_level, options.log_severity_level) == (FAITHFUL, 3)


@pytest.mark.parametrize("lean", [False, True])
def test_a_session_runs_on_the_cpu(lean: bool) -> None:
    assert open_session(MODEL, lean=lean).get_providers() == ["CPUExecutionProvider"]


def test_a_library_that_is_none_is_named() -> None:
    with pytest.raises(ModelError, match=r"'nowhere\.so' cannot be loaded"):
        register_all(["nowhere.so"])(ort.SessionOptions())
