"""calibrate(): zero point and scale of the tensors around the selected nodes, by minimum and maximum."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from onnxruntime.quantization import MinMaxCalibrater

from ..errors import CalibrationError, ModelNotFoundError, OptionError
from ..foreign import public
from ..onnx_io.whole_file import scratch_folder
from .arguments import OP_TYPES, check_node_names, deprecated, listed_names
from .quantizer import uint8_parameters


class _LegacyCalibrater(MinMaxCalibrater):  # type: ignore[misc]
    """ORT's MinMax on the tensors that the old rule selects."""

    def __init__(self, model_path: Path, augmented_model_path: Path, tensors: Mapping[str, Any]) -> None:
        super().__init__(model_path, list(OP_TYPES), str(augmented_model_path))
        self.tensors = tensors

    def select_tensors_to_calibrate(self, model: ModelProto) -> tuple[set[str], Mapping[str, Any]]:
        return set(self.tensors), self.tensors


@public
def calibrate(
    model_path: str | Path,
    data_reader: Any,
    op_types: Sequence[str] | str = OP_TYPES,
    black_nodes: Sequence[str] | str | None = None,
    white_nodes: Sequence[str] | str | None = None,
    augmented_model_path: str | Path | None = None,
) -> dict[str, list[Any]]:
    """``{tensor: [zero_point, scale]}`` for the inputs and outputs of the selected nodes, as `quantize` takes it.

    A node is selected if its type is in ``op_types`` and its name not in ``black_nodes``, or its name is in
    ``white_nodes``. ``augmented_model_path`` keeps the model that measures the ranges; by default none is kept.

    Raises:
        ModelNotFoundError: there is no such file.
        OptionError: no node with a float tensor is selected.
    """
    deprecated("calibrate()", "onnxruntime.quantization.create_calibrator(model, op_types)")
    if not Path(model_path).is_file():
        raise ModelNotFoundError(f"there is no model at {str(model_path)!r}")
    model = onnx.shape_inference.infer_shapes(onnx.load(model_path))
    types, black, white = (
        listed_names(names, argument)
        for names, argument in ((op_types, "op_types"), (black_nodes, "black_nodes"), (white_nodes, "white_nodes"))
    )
    check_node_names(black, "black_nodes", model)
    check_node_names(white, "white_nodes", model)
    selected = [
        node
        for node in model.graph.node
        if (node.op_type in types and node.name not in black) or (node.name and node.name in white)
    ]
    tensors = _float_tensors(model, selected)
    if not tensors:
        raise OptionError(f"op_types={types} and white_nodes={white} select no node with a float tensor")
    with scratch_folder() as folder:
        onnx.save(model, folder / "model.onnx", save_as_external_data=True)
        augmented = folder / "augmented.onnx" if augmented_model_path is None else Path(augmented_model_path)
        ranges = _ranges(_LegacyCalibrater(folder / "model.onnx", augmented, tensors), data_reader)
    narrowed = _Narrowing(model)
    return {name: list(uint8_parameters(*narrowed(name, *ends))) for name, ends in ranges.items()}


def _float_tensors(model: ModelProto, nodes: Iterable[NodeProto]) -> dict[str, Any]:
    """Value infos of the float activations around the nodes."""
    graph = model.graph
    infos = {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}
    constants = {tensor.name for tensor in graph.initializer}
    names = dict.fromkeys(name for node in nodes for name in (*node.input, *node.output) if name not in constants)
    return {
        name: infos[name]
        for name in names
        if name in infos and infos[name].type.tensor_type.elem_type == TensorProto.FLOAT
    }


def _ranges(calibrater: _LegacyCalibrater, data_reader: Any) -> dict[str, tuple[Any, Any]]:
    calibrater.augment_graph()
    calibrater.create_inference_session()
    try:
        calibrater.collect_data(data_reader)
    except ValueError as error:
        raise CalibrationError(f"the calibration data cannot be used: {error}") from error
    found = {name: data.range_value for name, data in calibrater.compute_data().items()}
    for name, ends in found.items():
        if not np.isfinite(ends).all():
            raise CalibrationError(f"{name} takes values that are not finite: {ends[0]} to {ends[1]}")
    return {name: (np.asarray(low).min(), np.asarray(high).max()) for name, (low, high) in found.items()}


class _Narrowing:
    """The range of a tensor that is left after the Relu or Clip that alone consumes it."""

    def __init__(self, model: ModelProto) -> None:
        self.outputs = {value.name for value in model.graph.output}
        self.consumers: dict[str, list[NodeProto]] = {}
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            for name in node.input:
                self.consumers.setdefault(name, []).append(node)
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = node.attribute[0].t

    def __call__(self, name: str, low: Any, high: Any) -> tuple[Any, Any]:
        consumers = self.consumers.get(name, [])
        if len(consumers) != 1 or name in self.outputs:
            return low, high
        if consumers[0].op_type == "Relu":
            return np.maximum(low, np.float32(0)), np.maximum(high, np.float32(0))
        if consumers[0].op_type != "Clip":
            return low, high
        lower, upper = self._bounds(consumers[0])
        return np.clip(low, lower, upper), np.clip(high, lower, upper)

    def _bounds(self, clip: NodeProto) -> tuple[Any, Any]:
        """Attributes up to opset 10, inputs from 11; a bound that is computed does not narrow."""
        bounds: dict[str, Any] = {attribute.name: np.float32(attribute.f) for attribute in clip.attribute}
        for key, name in zip(("min", "max"), clip.input[1:], strict=False):
            if name in self.constants:
                bounds[key] = numpy_helper.to_array(self.constants[name]).reshape(())
        return bounds.get("min", -np.inf), bounds.get("max", np.inf)
