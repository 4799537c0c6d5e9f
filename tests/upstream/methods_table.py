"""Which definition of a range is nearer to float: ours, onnxruntime's own, and those that ours were chosen among.

``python -m tests.upstream.methods_table`` writes methods.md beside this file.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import RangeMethod, Sketch, TensorFacts, hookimpl
from ort_vitis_plugin.plugin.manager import new_manager
from tests.kinds.checks import model, weights
from tests.models import networks

from .both import PLAINLY, decibels, ours, theirs

PAGE = Path(__file__).with_name("methods.md")
SAMPLES, JUDGED = 16, 16
Feeds = list[dict[str, NDArray[Any]]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[Any]]

ROWS, IMAGE = (8, 32), (1, 4, 12, 12)
MATRICES = {name: weights(seed, 32, 32, scale=0.25) for seed, name in enumerate("mnk")}
FILTERS = {
    "w": weights(4, 8, 4, 3, 3, scale=0.25),
    "v": weights(5, 8, 8, 3, 3, scale=0.15),
    "d": weights(6, 8, 1, 3, 3, scale=0.4),
    "p": weights(7, 8, 8, 1, 1, scale=0.4),
    "b": weights(8, 8, scale=0.2),
    "l": weights(9, 8, 6, scale=0.4),
}
MORE = {"g": weights(10, 32) + np.float32(1), "o": weights(11, 32, scale=0.2), "c": np.float32(6), "z": np.float32(0)}
CONSTANTS: dict[str, Any] = {**MATRICES, **FILTERS, **MORE}
PADS = "pads = [1, 1, 1, 1]"
ENDS = "q = GlobalAveragePool(t) f = Flatten(q) y = MatMul(f, l)"


def _normal(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    return random.standard_normal(shape)


def _heavy(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    return random.standard_t(2.5, shape)


def _glaring(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Pictures in which some pixels are as bright as the sun."""
    return random.uniform(0, 1, shape) + 12.0 * (random.uniform(0, 1, shape) > 0.999)


GENERATED: dict[str, tuple[str, tuple[int, ...], Draw]] = {
    "products": ("a = MatMul(x, m) e = MatMul(a, n) y = MatMul(e, k)", ROWS, _normal),
    "products and Relu": ("a = MatMul(x, m) r = Relu(a) e = MatMul(r, n) y = Relu(e)", ROWS, _normal),
    "residual": ("a = MatMul(x, m) r = Relu(a) e = MatMul(r, n) s = Add(e, x) y = MatMul(s, k)", ROWS, _normal),
    "heavy tails": ("a = MatMul(x, m) r = Relu(a) y = MatMul(r, n)", ROWS, _heavy),
    "attention": (
        "a = MatMul(x, m) e = MatMul(x, n) i = Transpose<perm = [1, 0]>(e) j = MatMul(a, i) "
        "s = Softmax<axis = -1>(j) h = MatMul(x, k) y = MatMul(s, h)",
        ROWS,
        _normal,
    ),
    "norm and Tanh": (
        "h = LayerNormalization(x, g, o) a = MatMul(h, m) t = Tanh(a) e = MatMul(t, n) y = Add(e, x)", ROWS, _normal
    ),
    "filters": (f"a = Conv<{PADS}>(x, w, b) r = Relu(a) e = Conv<{PADS}>(r, v, b) t = Relu(e) {ENDS}", IMAGE, _normal),
    "depthwise": (
        f"a = Conv<{PADS}>(x, w, b) r = Clip(a, z, c) e = Conv<{PADS}, group = 8>(r, d, b) h = Clip(e, z, c) "
        f"t = Conv(h, p, b) {ENDS}",
        IMAGE,
        _normal,
    ),
    "swish": (
        f"a = Conv<{PADS}>(x, w, b) s = Sigmoid(a) r = Mul(a, s) e = Conv<{PADS}>(r, v, b) i = Sigmoid(e) "
        f"t = Mul(e, i) {ENDS}",
        IMAGE,
        _normal,
    ),
    "glare": (f"a = Conv<{PADS}>(x, w, b) r = Relu(a) t = MaxPool<kernel_shape = [2, 2]>(r) {ENDS}", IMAGE, _glaring),
}  # fmt: skip
TRAINED = ("digits", "depthwise_skewed", "transformer")
NAMES = (*GENERATED, *TRAINED)


def divergence_alone(sketch: Sketch, tensor: TensorFacts) -> tuple[float, float]:
    """The threshold of least Kullback-Leibler divergence, whatever it clips."""
    return sketch.entropy_range()


def deviations(sketch: Sketch, tensor: TensorFacts) -> tuple[float, float]:
    """Three standard deviations around the mean, for integers too."""
    spread = 3 * sketch.deviation
    return max(sketch.mean - spread, sketch.minimum), min(sketch.mean + spread, sketch.maximum)


def symmetric(sketch: Sketch, tensor: TensorFacts) -> tuple[float, float]:
    """The whole range, as far on both sides of zero where there are both: what theirs has for Distribution."""
    if sketch.minimum >= 0 or sketch.maximum <= 0:
        return sketch.minimum, sketch.maximum
    limit = max(-sketch.minimum, sketch.maximum)
    return -limit, limit


REJECTED = {"divergence alone": divergence_alone, "three deviations": deviations, "whole range, symmetric": symmetric}
INT8 = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
FLOAT8 = {"activation_type": QuantType.QFLOAT8E4M3FN, "weight_type": QuantType.QFLOAT8E4M3FN}
IN_FLOAT8 = "Distribution in float8"
METHODS: dict[str, dict[str, Any]] = {
    **{name: {"calibrate_method": CalibrationMethod[name], **INT8} for name in CalibrationMethod.__members__},
    IN_FLOAT8: {"calibrate_method": CalibrationMethod.Distribution, **FLOAT8},
}


class Rejected:
    """Declares the definitions that were not taken."""

    @hookimpl
    def vitis_declare(self) -> Iterator[RangeMethod]:
        for name, choose in REJECTED.items():
            yield RangeMethod(name, f"{name.capitalize()}.", choose)


@dataclass(frozen=True)
class Row:
    """Decibels of one network, by method: theirs, ours; and of what was rejected."""

    name: str
    pairs: dict[str, tuple[float, float]]
    rejected: dict[str, float]

    @property
    def line(self) -> str:
        """The row as the page has it."""
        cells = [f"{left:.1f}, {right:.1f}" for left, right in self.pairs.values()]
        cells += [f"{value:.1f}" for value in self.rejected.values()]
        return f"| {self.name} | {' | '.join(cells).replace('nan', 'fails')} |"


def network(name: str) -> tuple[ModelProto, Feeds, Feeds]:
    """The network, the samples that calibrate it, and those that judge."""
    if name in TRAINED:
        known = networks.digits(name, SAMPLES, JUDGED)
        return onnx.load(networks.network(name)), known.calibration, known.evaluation
    body, shape, draw = GENERATED[name]
    bare = model(f"t (float{list(shape)} x) => (float[n, m] y) {{ {body} }}")
    read = {tensor for node in bare.graph.node for tensor in node.input}
    proto = model(
        f"t (float{list(shape)} x) => (float[n, m] y) {{ {body} }}",
        {key: value for key, value in CONSTANTS.items() if key in read},
    )
    random = np.random.default_rng(1)
    feeds = [{"x": draw(random, shape).astype(np.float32)} for _ in range(SAMPLES + JUDGED)]
    return proto, feeds[:SAMPLES], feeds[SAMPLES:]


def by_them(proto: ModelProto, feeds: Feeds, judged: Feeds, method: str) -> float:
    """Decibels of onnxruntime's own code; NaN where it fails."""
    try:
        return decibels(proto, theirs(proto, feeds, **METHODS[method]), judged)
    except AttributeError:  # float8: what has a fixed range (Softmax) has no deviation there
        return math.nan


def by_us(proto: ModelProto, feeds: Feeds, judged: Feeds, method: str) -> float:
    """Decibels of our pipeline."""
    return decibels(proto, ours(proto, feeds, **METHODS[method]), judged)


def by_rejected(proto: ModelProto, feeds: Feeds, judged: Feeds) -> dict[str, float]:
    """Decibels of each definition that was not taken."""
    manager, found = new_manager(entry_points=False), {}
    manager.register(Rejected())
    for definition in REJECTED:
        options = {"calibrate_method": definition, "extra_options": PLAINLY, "optimize_model": False, **INT8}
        result = quantize_static(proto, None, networks.FeedReader(feeds), plugins=manager, **options)
        found[definition] = decibels(proto, result.model, judged)
    return found


def row(name: str, methods: Iterable[str] = METHODS, *, rejected: bool = True) -> Row:
    """One network, measured on samples that calibrated nothing."""
    measured = network(name)
    pairs = {method: (by_them(*measured, method), by_us(*measured, method)) for method in methods}
    return Row(name, pairs, by_rejected(*measured) if rejected else {})


def gains(rows: Iterable[Row], method: str) -> list[float]:
    """Decibels that ours has more than theirs, where theirs does not fail."""
    pairs = (each.pairs[method] for each in rows)
    return [right - left for left, right in pairs if not math.isnan(left)]


def summary(rows: Sequence[Row], methods: Iterable[str]) -> str:
    """The last row: the least and the greatest gain of each method."""
    spans = [f"{min(found):+.1f} to {max(found):+.1f}" for found in (gains(rows, method) for method in methods)]
    return f"| ours less theirs | {' | '.join(spans)} |{' |' * len(REJECTED)}"


def heads(methods: Iterable[str]) -> list[str]:
    """The two lines above the rows."""
    names = [f"{method}: theirs, ours" for method in methods] + list(REJECTED)
    return [f"| network | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]


def page() -> str:
    """methods.md."""
    found = [row(name) for name in NAMES]
    lines = [
        "# Ranges of onnxruntime's methods: which definition is nearer to float",
        "",
        "Written by `python -m tests.upstream.methods_table`. SQNR in dB of networks in int8: onnxruntime's own code,",
        f"then ours; {SAMPLES} samples calibrate, {JUDGED} others judge. The last three columns are definitions that",
        "were tried in our pipeline and not taken: the divergence without a look at squared error (Entropy), three",
        "standard deviations, and the whole range made symmetric where it has both signs (Distribution). The last",
        "three networks are trained ones of tests/models. Where theirs fails it finds no deviation of what has a fixed",
        "range.",
        "",
        *heads(METHODS),
        *(each.line for each in found),
        summary(found, METHODS),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))
