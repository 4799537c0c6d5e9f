"""What a report shows is gathered once: the call's findings, errors of its layers, what its tensors hold."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..custom_ops.qdq_nodes import is_dequantize
from ..custom_ops.stored_codes import holds_constant
from ..data_readers import RandomDataReader, Samples
from ..data_readers.spread import picked, spread
from ..graph import Graph
from ..measure.layer_errors import layer_errors
from ..numerics.positions import position_of
from ..numerics.qtypes import host_qtype
from ..onnx_io.load import load_model
from ..report.json_data import finite_or_none
from .quantize_static import calibrate, prepared

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto

    from ..report.report import Result
    from ..sketch import Sketch

VERSION = 1
BINS = 40
MOST_SAMPLES, COMPARED, DRAWN = 16, 6, 4  # samples that are read; of these, for errors of layers, for distributions


def report_data(
    model: ModelProto | str | Path,
    result: Result,
    data: Any = None,
    trials: Iterable[Mapping[str, Any]] = (),
    **configuration: Any,
) -> dict[str, Any]:
    """Plain data after ``report/report.schema.json``: the report, layers, distributions, the graph in order, trials.

    ``configuration`` holds the keyword arguments that made the result; ``data`` is what calibrated it, of which the
    first 16 samples tell errors of layers (6 of them) and distributions (4). ``trials`` are rows of ``tune``.

    Raises:
        ModelError: the result is not made from this model.
    """
    source = load_model(model)
    samples = Samples(RandomDataReader(source) if data is None else data, source)
    samples.rewind()
    feeds = list(islice(samples, MOST_SAMPLES))
    reference = prepared(source, **configuration)
    errors = layer_errors(reference, result.model, picked(feeds, spread(len(feeds), COMPARED)), weights=True)
    sketches = calibrate(source, picked(feeds, spread(len(feeds), DRAWN)), **configuration).sketches
    order = Graph(reference, copy=False)
    ranges = _ranges(Graph(result.model, copy=False))
    return {
        "version": VERSION,
        "report": result.report.as_dict(),
        "layers": [
            {
                "tensor": each.tensor,
                "made_by": each.producer,
                "constant": order.is_constant(each.tensor),
                **{key: finite_or_none(getattr(each, key)) for key in ("through", "alone", "weights", "contrast")},
                "clipped": each.clipped,
                "range": ranges.get(each.tensor),
                "distribution": _distribution(sketches.get(each.tensor)),
            }
            for each in errors
        ],
        "nodes": [
            _node(node.name, node.op_type, node.output[0], result)
            for node in order.sorted()
            if node.output and not holds_constant(node, order.is_constant)
        ],
        "trials": [dict(row) for row in trials],
    }


def _node(name: str, op_type: str, tensor: str, result: Result) -> dict[str, Any]:
    report = result.report
    if name not in report.quantized:
        why = report.left_float.get(name, "")
        return {"name": name, "op_type": op_type, "tensor": tensor, "state": "float", "why": why}
    away = report.placement.get(name, "")
    return {
        "name": name,
        "op_type": op_type,
        "tensor": tensor,
        "state": "off the device" if away else "quantized",
        "why": away,
    }


def _ranges(codes: Graph) -> dict[str, dict[str, Any]]:
    """{tensor: the least and the largest number of its codes, scale and position} of what has one scale."""
    found: dict[str, dict[str, Any]] = {}
    for node in codes:
        if not is_dequantize(node) or len(node.input) < 3:
            continue
        scale, zero = codes.array(node.input[1]), codes.array(node.input[2])
        if scale is None or zero is None or scale.size != 1 or zero.dtype.kind not in "iu":
            continue
        least, most = host_qtype(codes.element_type(node.input[2])).limits()
        step, at = float(scale.reshape(())), int(zero.reshape(()))
        tensor = node.output[0].partition("_DequantizeLinear_Output")[0]
        found[tensor] = {
            "low": (least - at) * step,
            "high": (most - at) * step,
            "scale": step,
            "position": position_of(step),
        }
    return found


def _distribution(sketch: Sketch | None) -> dict[str, Any] | None:
    if sketch is None or not sketch.count or sketch.abs_max == 0:
        return None
    counts, edges = sketch.histogram(BINS)
    return {"counts": [int(count) for count in counts], "low": float(edges[0]), "high": float(edges[-1])}
