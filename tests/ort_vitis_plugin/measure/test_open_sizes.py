"""Outputs whose size depends on the data are compared as far as they can be, and end no call."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.measure.evaluate import compare
from ort_vitis_plugin.measure.open_sizes import open_outputs
from ort_vitis_plugin.testing import graph

RNG = np.random.default_rng(0)
WEIGHTS = {
    "w": RNG.standard_normal((16, 16)).astype(np.float32),
    "half": np.float32(0.05),
    "zero": np.int64(0),
    "one": np.int64(1),
    "n": np.array([1, 64], np.int64),
    "limit": np.float32(40),
    "boxes": np.array([1, 16, 4], np.int64),
    "second": np.array([1], np.int64),
    "last": np.int64(2),
    "flat": np.array([-1], np.int64),
    "most": np.array([8], np.int64),
    "overlap": np.array([0.5], np.float32),
    "least": np.array([1.0], np.float32),
}
HEAD = "h = MatMul(x, w)"
OPEN = {
    "NonZero": f"{HEAD} c = Greater(h, half) p = NonZero(c) t = Transpose(p) y = GatherND(h, t)",
    "Compress": f"{HEAD} f = Reshape(h, n) g = Flatten<axis = 0>(f) s = Squeeze(g) c = Greater(s, half) "
    "y = Compress(s, c)",
    "NonMaxSuppression and Gather": f"{HEAD} b = Reshape(h, boxes) m = ReduceMax<axes = [2], keepdims = 0>(b) "
    "s = Unsqueeze(m, second) i = NonMaxSuppression(b, s, most, overlap, least) c = Gather<axis = 1>(i, last) "
    "g = Gather<axis = 1>(b, c) y = Reshape(g, flat)",
    "Range of a predicted length": f"{HEAD} a = Abs(h) s = ReduceSum<keepdims = 0>(a) l = Cast<to = 7>(s) "
    "r = Range(zero, l, one) y = Cast<to = 1>(r)",
}
FIXED = {
    "a fixed size": f"{HEAD} y = Relu(h)",
    "NonZero of a constant": "p = NonZero(w) f = Cast<to = 1>(p) h = MatMul(x, w) m = ReduceMean<keepdims = 0>(f) "
    "y = Add(h, m)",
    "NonZero of a shape": f"{HEAD} s = Shape(x) p = NonZero(s) f = Cast<to = 1>(p) m = ReduceMean<keepdims = 0>(f) "
    "y = Add(h, m)",
}
FEEDS = [{"x": RNG.standard_normal((4, 16)).astype(np.float32)} for _ in range(4)]


def model(text: str, shape: str = "k") -> ModelProto:
    return graph(f"t (float[4, 16] x) => (float[{shape}] y, float[4, 16] h) {{ {text} }}", 17, WEIGHTS)


@pytest.mark.parametrize("case", FIXED)
def test_other_sizes_are_fixed(case: str) -> None:
    found = onnx.shape_inference.infer_shapes(model(FIXED[case], "4, 16"))
    assert open_outputs(found) == set()
    assert set(quantize_static(found, None, FEEDS).report.sqnr) == {"y", "h"}


@pytest.mark.parametrize("case", OPEN)
def test_the_call_goes_on_and_says_so(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = model(OPEN[case])
    assert open_outputs(source) == {"y"}
    result = quantize_static(source, tmp_path / "q.onnx", FEEDS)
    assert set(result.report.sqnr) == {"h"}
    assert result.report.sqnr["h"] > 20
    (note,) = (note for note in result.report.notes if "its size depends on the data" in note)
    assert note.startswith("output y")
    found = compare(source, result.model, FEEDS)
    assert found["h"].sqnr > 20
    assert found["h"].other_sizes == 0
    assert ("have another size" in note) == (found["y"].other_sizes > 0)
    onnx.save(source, tmp_path / "f.onnx")
    np.savez(tmp_path / "x.npz", x=np.stack([feed["x"] for feed in FEEDS]).reshape(-1, 16)[:4][None])
    arguments = ["evaluate", str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx")]
    assert main(arguments) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_what_is_not_finite_ends_the_call_in_another_size_too() -> None:
    """A size that depends on the data excuses nothing else."""
    from ort_vitis_plugin.errors import SelfCheckError
    from ort_vitis_plugin.pipeline.self_check import check_result
    from ort_vitis_plugin.report.report import Report

    def thrown(divisor: float) -> ModelProto:
        values: dict[str, Any] = {**WEIGHTS, "by": np.float32(divisor)}
        text = "h = MatMul(x, w) c = Greater(h, half) p = NonZero(c) t = Transpose(p) g = GatherND(h, t) y = Div(g, by)"
        return graph(f"t (float[4, 16] x) => (float[k] y) {{ {text} }}", 17, values)

    with pytest.raises(SelfCheckError, match="output y of the quantized model is not finite"):
        check_result(thrown(1.0), thrown(0.0), FEEDS, Report())


@pytest.mark.parametrize("broken", ["float", "quantized"])
def test_a_model_that_does_not_load_is_a_typed_error(broken: str, tmp_path: Path, capsys: Any) -> None:
    good, bad = (model(FIXED["a fixed size"]) for _ in range(2))
    bad.graph.node[-1].domain = "other.domain"
    bad.opset_import.append(onnx.helper.make_opsetid("other.domain", 1))
    for name, each in (("float", good), ("quantized", good)):
        onnx.save(bad if name == broken else each, tmp_path / f"{name}.onnx")
    assert main(["evaluate", str(tmp_path / "float.onnx"), str(tmp_path / "quantized.onnx")]) == 2
    assert f"cannot load the {broken} model" in capsys.readouterr().err
