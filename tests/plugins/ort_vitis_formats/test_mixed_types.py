"""Any activation type with any weight type: valid, the same bits with and without the library, biases in full."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, custom_ops, quantize_static
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import LEVELS, graph
from tests.thinned import thinned

GIVEN = np.random.default_rng(0)
NETWORK = graph(
    """t (float[1, 3, 8, 8] x) => (float[1, 5] y) {
        a = Conv<pads = [1, 1, 1, 1]>(x, w, b)  r = Relu(a)  d = Conv<pads = [1, 1, 1, 1], group = 8>(r, dw, db)
        p = GlobalAveragePool(d)  f = Flatten(p)  y = Gemm<transB = 1>(f, g, c)
    }""",
    17,
    {
        "w": np.float32(GIVEN.standard_normal((8, 3, 3, 3))),
        "b": np.float32(GIVEN.standard_normal(8) * 3),
        "dw": np.float32(GIVEN.standard_normal((8, 1, 3, 3))),
        "db": np.float32(GIVEN.standard_normal(8)),
        "g": np.float32(GIVEN.standard_normal((5, 8))),
        "c": np.float32(GIVEN.standard_normal(5)),
    },
)
SAMPLES = [{"x": np.float32(GIVEN.standard_normal((1, 3, 8, 8)))} for _ in range(4)]
TYPES = [QuantType.QUInt8, QuantType.QInt8, *(kind for kind in VitisQuantType if kind.is_built_in)]


def answers(model: onnx.ModelProto, level: Any, *, library: bool) -> Any:
    session = open_session(model, [custom_ops.register] if library else [], level)
    return np.concatenate([session.run(None, feed)[0] for feed in SAMPLES])


def quantized(model: onnx.ModelProto, activation: Any, weight: Any, feeds: Any = SAMPLES, **settings: Any) -> Any:
    settings = {"calibrate_method": PowerOfTwoMethod.MinMSE} | settings
    return quantize_static(
        model,
        None,
        list(feeds),
        quant_format=VitisQuantFormat.QDQ,
        activation_type=activation,
        weight_type=weight,
        **settings,
    ).model


# Each activation type with two weight types by default, all 64 pairs among the slow tests.
PAIRS = [
    pytest.param(a, w, id=f"{a.name}-{w.name}", marks=() if (i // 8 - i % 8) % 4 == 1 else pytest.mark.slow)
    for i, (a, w) in enumerate(product(TYPES, TYPES))
]


@pytest.mark.parametrize(("activation", "weight"), PAIRS)
def test_every_pair_of_types(activation: Any, weight: Any) -> None:
    custom_ops.register_schemas()
    model = quantized(NETWORK, activation, weight)
    onnx.checker.check_model(model, full_check=True, check_custom_domain=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    names = [(function.domain, function.name) for function in model.functions]
    assert len(names) == len(set(names))
    written = answers(model, LEVELS[0], library=True)
    np.testing.assert_array_equal(answers(model, LEVELS[0], library=False), written)
    for library in (True, False):  # kernels chosen by the optimizer add in another order
        assert sqnr_db(written, answers(model, LEVELS[1], library=library)) > 60


LAYERS = {
    "conv": ("Conv<pads = [1, 1, 1, 1]>(x, w, b)", (1, 3, 8, 8), (8, 3, 3, 3)),
    "depthwise": ("Conv<pads = [1, 1, 1, 1], group = 8>(x, w, b)", (1, 8, 8, 8), (8, 1, 3, 3)),
    "transposed": ("ConvTranspose(x, w, b)", (1, 3, 8, 8), (3, 8, 3, 3)),
    "gemm": ("Gemm<transB = 1>(x, w, b)", (1, 8), (8, 8)),
}


# Sizes of biases and weights.
SIZES = {"usual": (1.0, 1.0), "bias": (1e5, 1e-6), "weight": (1e-6, 1e3)}


@pytest.mark.parametrize(("layer", "large", "scales"), thinned(2, LAYERS, SIZES, ["tensor", "channel"]))
def test_biases_of_32_bits_never_saturate(layer: str, large: str, scales: str) -> None:
    """A32W32 keeps 100 dB whatever the ratio of biases to weights, for both methods and both kinds of codes."""
    text, shape, kernel = LAYERS[layer]
    given, (bias, weight) = np.random.default_rng(1), SIZES[large]
    constants = {
        "w": np.float32(given.standard_normal(kernel) * weight),
        "b": np.float32(given.standard_normal(8) * bias),
    }
    sizes = ", ".join(map(str, shape))
    model = graph(f"t (float[{sizes}] x) => (float[] y) {{ y = {text} }}", 17, constants)
    feeds = [{"x": np.float32(given.standard_normal(shape))} for _ in range(3)]
    want = open_session(model).run(None, feeds[0])[0]
    for method in (PowerOfTwoMethod.MinMSE, CalibrationMethod.MinMax):
        for kind in (VitisQuantType.QInt32, VitisQuantType.QUInt32):
            result = quantized(model, kind, kind, feeds, calibrate_method=method, per_channel=scales == "channel")
            got = open_session(result, [custom_ops.register]).run(None, feeds[0])[0]
            assert sqnr_db(want, got) >= 100


@pytest.mark.parametrize("activation", [QuantType.QUInt8, VitisQuantType.QInt16])
@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
def test_eight_bit_pairs_for_onnxruntime_extensions(activation: Any, per_channel: bool) -> None:
    """UseQDQVitisCustomOps=False runs with its library, beside ours, and without any, to the same bits."""
    extensions = pytest.importorskip("onnxruntime_extensions")
    options = {"UseQDQVitisCustomOps": False}
    model = quantized(NETWORK, activation, QuantType.QInt8, per_channel=per_channel, extra_options=options)
    assert custom_ops.CONTRIB_DOMAIN in {node.domain for node in model.graph.node}
    want = answers(model, LEVELS[0], library=False)

    def register(session_options: ort.SessionOptions) -> None:
        session_options.register_custom_ops_library(extensions.get_library_path())

    for libraries in ([register], [register, custom_ops.register], [custom_ops.register, register]):
        session = open_session(model, libraries, LEVELS[0])
        np.testing.assert_array_equal(np.concatenate([session.run(None, feed)[0] for feed in SAMPLES]), want)
