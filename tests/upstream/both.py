"""One call answered by both pipelines, and how far their files agree."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, quantize_static

import ort_vitis_plugin as vitis
from ort_vitis_plugin.entry.attach import original
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from tests.kinds.checks import Arguments, constants_of, run_at, samples
from tests.models.networks import FeedReader

SLACK = 0.5  # decibels within which two results are as near to float
PARAMETERS = ("_scale", "_zero_point")
BIASES = tuple(f"_quantized{each}" for each in PARAMETERS)
# What this tool does beyond the request, and says so; the comparison is about the request.
PLAINLY: Arguments = {"Recipe": "plain", "AvoidSaturation": False}


def theirs(source: ModelProto | Path, feeds: Any = None, **arguments: Any) -> ModelProto:
    """onnxruntime's own code, whoever is attached."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "float.onnx"
        if isinstance(source, ModelProto):
            onnx.save(source, path)
        else:
            path = source
        reader = FeedReader(samples(onnx.load(path)) if feeds is None else feeds)
        original(quantize_static)(path, Path(folder) / "q.onnx", reader, **arguments)
        return onnx.load(Path(folder) / "q.onnx")


def ours(source: ModelProto | Path, feeds: Any = None, **arguments: Any) -> ModelProto:
    """Our door, asked for exactly what onnxruntime would do: its method, its weights."""
    given = {"calibrate_method": CalibrationMethod.MinMax, "optimize_model": False, **arguments}
    given["extra_options"] = {**PLAINLY, **(arguments.get("extra_options") or {})}
    if feeds is None:
        feeds = samples(source if isinstance(source, ModelProto) else onnx.load(source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vitis.quantize_static(source, None, FeedReader(feeds), **given).model


def parameters(proto: ModelProto) -> dict[str, Any]:
    """{initializer that holds a scale or zero point: its values}, without biases: theirs follow from the others."""
    found = {name: value for name, value in constants_of(proto).items() if name.endswith(PARAMETERS)}
    return {name: value for name, value in found.items() if not name.endswith(BIASES)}


def _agree(one: Any, other: Any) -> bool:
    # One zero point is as good as many equal ones.
    if one.dtype != other.dtype:
        return False
    if one.size != other.size:
        one, other = np.unique(one), np.unique(other)
    return one.size == other.size and np.allclose(
        one.ravel().astype(np.float64), other.ravel().astype(np.float64), rtol=1e-6, atol=0
    )


def decibels(source: ModelProto, result: ModelProto, feeds: list[Any]) -> float:
    """The least SQNR of an output; of integers, the share that is equal, in percent."""
    wanted, found = run_at(source, feeds), run_at(result, feeds)
    assert list(wanted[0]) == list(found[0]), "outputs were renamed, lost or put in another order"
    worst = np.inf
    for name in wanted[0]:
        left = np.concatenate([np.ravel(each[name]) for each in wanted])
        right = np.concatenate([np.ravel(each[name]) for each in found])
        near = 100.0 * float((left == right).mean()) if left.dtype.kind != "f" else sqnr_db(left, right)
        worst = min(worst, near)
    return worst


@dataclass(frozen=True)
class Comparison:
    """Where our file and onnxruntime's differ."""

    op_types: str
    parameters: list[str]
    decibels: tuple[float, float]

    @property
    def is_as_near(self) -> bool:
        """Ours is as near to float as theirs, or nearer."""
        return self.decibels[1] >= self.decibels[0] - SLACK


def compared(source: ModelProto, left: ModelProto, right: ModelProto) -> Comparison:
    """Theirs on the left, ours on the right."""
    one, other = (Counter(node.op_type for node in each.graph.node) for each in (left, right))
    there, here = parameters(left), parameters(right)
    # Where nodes are fused the two name what is left after the one or the other tensor.
    found = [
        name
        for name, value in there.items()
        if not any(_agree(value, each) for each in ([here[name]] if name in here else here.values()))
    ]
    feeds = samples(source)
    return Comparison(
        f"{dict(one - other)} -> {dict(other - one)}" if one != other else "",
        sorted(found),
        (decibels(source, left, feeds), decibels(source, right, feeds)),
    )
