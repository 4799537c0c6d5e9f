"""Sessions are quiet and on the CPU, and a library that cannot be loaded is named."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnxruntime as ort
import pytest

from ort_vitis_plugin.errors import LibraryNotFoundError, ModelError
from ort_vitis_plugin.onnx_io import sessions
from ort_vitis_plugin.onnx_io.sessions import (
    FAITHFUL,
    extensions_library,
    missing_operator,
    open_session,
    register_all,
    session_options,
)
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


def test_a_model_beyond_a_file_lends_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LARGEST_FILE", 0)
    text = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
    w = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    opened = open_session(graph(text, constants={"w": w}))
    x = np.ones((1, 64), np.float32)
    np.testing.assert_allclose(opened.run(None, {"x": x})[0], x @ w, rtol=1e-4, atol=1e-5)


def test_without_extensions_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(extensions_library()).is_file()
    monkeypatch.setitem(sys.modules, "onnxruntime_extensions", None)
    with pytest.raises(LibraryNotFoundError, match="install onnxruntime-extensions"):
        extensions_library()


def test_only_errors_about_operators_advise_a_library() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.node[0].op_type = "Unheard"
    with pytest.raises(Exception, match="Unheard") as caught:
        open_session(model)
    assert "CustomOpLibraries" in missing_operator(caught.value)
    assert missing_operator("the shapes do not fit") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked")
@pytest.mark.parametrize(("freed", "walks"), [(0, 0), (sessions.WORTH_A_WALK - 1, 0), (sessions.WORTH_A_WALK, 1)])
def test_the_heap_is_walked_for_much_memory_only(freed: int, walks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(sessions.ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=trimmed.append))
    sessions.give_back(freed)
    assert len(trimmed) == walks
