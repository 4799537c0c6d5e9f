"""Open sizes become fixed, and all that follows from them; a device then takes what it could not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.analysis.placement_forecast import forecast, forecast_of
from ort_vitis_plugin.errors import ModelError, OptionError, QuantizationError, UnknownNameError
from ort_vitis_plugin.pipeline.fixed_shapes import fix_shapes, open_inputs
from ort_vitis_plugin.testing import graph
from tests.models.serialized import without_provenance

Build = Callable[..., onnx.ModelProto]

RNG = np.random.default_rng(0)
W, V = (RNG.normal(size=shape).astype(np.float32) * 0.2 for shape in ((4, 3, 3, 3), (4, 4, 3, 3)))
CONSTANTS: dict[str, np.ndarray] = {
    "w": W,
    "v": V,
    "zero": np.array([0]),
    "two": np.array([2]),
    "minus": np.array([-1]),
    "four": np.array([4]),
}


def detector(header: str = "float[N, 3, H, W] x", output: str = "float[N, A, 4] y") -> onnx.ModelProto:
    """Two levels, the coarse one resized to the fine one's size, and boxes by rows: as exporters write them."""
    return graph(
        f"t ({header}) => ({output}) {{ "
        "a = Conv<pads = [1, 1, 1, 1]>(x, w) b = Relu(a) "
        "c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(b, v) d = Relu(c) "
        "s = Shape(b) sides = Slice(s, two, four) ds = Shape(d) channels = Slice(ds, zero, two) "
        'to = Concat<axis = 0>(channels, sides) e = Resize<mode = "nearest">(d, , , to) f = Add(b, e) '
        "n = Gather(s, zero) rows = Concat<axis = 0>(n, minus, four) p = Transpose<perm = [0, 2, 3, 1]>(f) "
        "y = Reshape(p, rows) }",
        constants=CONSTANTS,
    )


def shapes(model: onnx.ModelProto) -> dict[str, list[int | str]]:
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    return {
        value.name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in values
    }


FIXED: dict[str, dict[str, Any]] = {
    "a whole shape": {"x": [1, 3, 32, 48]},
    "dimensions": {"N": 1, "H": 32, "W": 48},
    "both": {"x": (1, 3, 32, 48), "W": 48},
}


@pytest.mark.parametrize("case", FIXED)
def test_shapes_are_inferred_through_the_model(case: str) -> None:
    model = detector()
    before = model.SerializeToString()
    fixed = fix_shapes(model, FIXED[case])
    assert model.SerializeToString() == before
    found = shapes(fixed)
    assert (found["x"], found["d"], found["f"], found["y"]) == (
        [1, 3, 32, 48],
        [1, 4, 16, 24],
        [1, 4, 32, 48],
        [1, 32 * 48, 4],
    )
    assert open_inputs(fixed) == {}
    feed = {"x": RNG.normal(size=(1, 3, 32, 48)).astype(np.float32)}
    outputs = [ort.InferenceSession(each.SerializeToString()).run(None, feed)[0] for each in (model, fixed)]
    np.testing.assert_array_equal(*outputs)


def test_what_is_not_named_stays_open() -> None:
    fixed = fix_shapes(detector(), {"N": 1})
    assert open_inputs(fixed) == {"x": [1, 3, "H", "W"]}
    assert shapes(fixed)["a"][:2] == [1, 4]
    unnamed = fix_shapes(detector("float[?, 3, ?, 8] x"), {"x": [2, 3, 8, 8]})
    assert open_inputs(unnamed) == {}


def test_a_model_that_is_fixed_stays_as_it_is() -> None:
    model = detector("float[1, 3, 8, 8] x")
    assert fix_shapes(model, {"x": [1, 3, 8, 8]}) == model
    assert fix_shapes(model, {}) == model


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such input": ({"X": [1, 3, 8, 8]}, UnknownNameError, r"no input 'X' \(x\); did you mean x"),
    "no such dimension": ({"M": 1}, UnknownNameError, r"no open dimension 'M' \(x \[N, 3, H, W\]\)"),
    "an input is no dimension": ({"x": 1}, OptionError, "x is an input; give its whole shape, like x=1,3,1,1"),
    "rank": ({"x": [3, 8, 8]}, OptionError, r"x=3,8,8 has 3 sizes, but the input has 4: \[N, 3, H, W\]"),
    "another size": ({"x": [1, 4, 8, 8]}, OptionError, r"x=1,4,8,8 says 4 on axis 1, but the model has \[N, 3, H, W\]"),
    "two sizes": ({"x": [1, 3, 8, 8], "N": 2}, OptionError, "N=2 makes the dimension N 2, which is 1 elsewhere"),
    "zero": ({"N": 0}, OptionError, "a size is a whole number from 1 on, not 0"),
    "a text": ({"N": "1"}, OptionError, "a size is a whole number from 1 on, not '1'"),
    "a truth": ({"x": [True, 3, 8, 8]}, OptionError, "a size is a whole number from 1 on, not True"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_in_one_line(case: str) -> None:
    sizes, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        fix_shapes(detector(), sizes)
    with pytest.raises(QuantizationError):
        quantize_static(detector(), None, None, extra_options={"FixShapes": sizes})


def test_sizes_that_the_model_does_not_take() -> None:
    model = graph(
        "t (float[N, K] x) => (float[N, 2] y) { y = MatMul(x, w) }", constants={"w": np.ones((3, 2), np.float32)}
    )
    with pytest.raises(ModelError, match=r"the model does not take K=4: .*MatMul"):
        fix_shapes(model, {"K": 4})
    assert open_inputs(fix_shapes(model, {"K": 3})) == {"x": ["N", 3]}


def test_the_option_quantizes_a_fixed_model() -> None:
    model = detector()
    before = model.SerializeToString()
    data = RNG.normal(size=(2, 3, 16, 16)).astype(np.float32)
    sizes = {"x": [1, 3, 16, 16]}
    result = quantize_static(model, None, data, enable_dpu=True, extra_options={"FixShapes": sizes})
    same = quantize_static(fix_shapes(model, sizes), None, data, enable_dpu=True)
    assert shapes(result.model)["x"] == [1, 3, 16, 16]
    assert without_provenance(result.model) == without_provenance(same.model)
    assert not any("dynamic" in reason for reason in result.report.placement.values())
    assert model.SerializeToString() == before


def test_the_forecast_names_the_one_remedy_and_it_helps() -> None:
    found = forecast_of(detector())
    dynamic = [cause for cause in found.causes() if cause.remedy]
    assert [cause.remedy for cause in dynamic] == ["--fix-dim N=1 H=224 W=224 (with the sizes that you run)"]
    assert str(dynamic[0]).startswith(f"{len(dynamic[0].nodes)} nodes: dynamic N, H, W; add --fix-dim N=1")
    taken = sum(entry.reason is None for entry in found.placements)
    assert taken < len(found.placements) / 2
    fixed = forecast(detector(), fix_shapes={"N": 1, "H": 224, "W": 224})
    assert sum(entry.reason is None for entry in fixed) >= 0.95 * len(fixed)
