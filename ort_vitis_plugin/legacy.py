"""The quantize() and calibrate() of ONNX Runtime's tools of 2019 and 2020, on today's ONNX Runtime.

Both work in memory and leave the caller's model alone. Where the old tool was wrong, this one is right: a bias under a
dynamic input, a bias shared by two nodes, and unfused dynamic quantization of an input whose range excludes 0.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization.base_quantizer import QuantizationParams
from onnxruntime.quantization.calibrate import MinMaxCalibrater
from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
from onnxruntime.quantization.quant_utils import (
    QuantizationMode,
    QuantType,
    add_infer_metadata,
    compute_scale_zp,
    get_qmin_qmax_for_qType,
)

from .errors import (
    CalibrationError,
    ModelError,
    ModelNotFoundError,
    OptionError,
    OptionTypeError,
    UnknownNameError,
    UnsupportedError,
    suggest,
)
from .options import OptionWarning

__all__ = ["QuantizationMode", "calibrate", "quantize"]

OP_TYPES = ("Conv", "MatMul")
OLDEST_OPSET = 11  # Round, and DynamicQuantizeLinear, which "force_fusions" emits
INT32_LOW, INT32_HIGH = -2147483648.0, 2147483520.0  # the ends of int32 that float32 represents


class _LegacyQuantizer(ONNXQuantizer):  # type: ignore[misc]
    """ORT's quantizer with given parameters taken literally, and what it lacks for dynamic inputs."""

    def __init__(
        self,
        model: ModelProto,
        given: Mapping[str, tuple[np.uint8, np.float32]],
        *,
        mode: QuantizationMode,
        static: bool,
        per_channel: bool,
        weight_type: QuantType,
        fused: bool,
        nodes_to_quantize: Sequence[str],
    ) -> None:
        self.given = given
        super().__init__(
            model,
            per_channel,
            False,
            mode,
            True,  # static: the constructor would rewrite every Gemm otherwise, which the old tool left alone
            weight_type,
            QuantType.QUInt8,
            None,
            list(nodes_to_quantize),
            [],
            list(OP_TYPES),
            {"MatMulConstBOnly": not static},
        )
        self.static = static
        self.fuse_dynamic_quant = fused

    def calculate_quantization_params(self) -> dict[str, QuantizationParams]:
        return {
            name: QuantizationParams(
                zero_point=np.array(zero_point), scale=np.array(scale), quant_type=self.activation_qType
            )
            for name, (zero_point, scale) in self.given.items()
        }

    def missing(self, node: NodeProto) -> list[str]:
        """Tensors around a node whose parameters the mode needs and the caller did not give."""
        needed = [name for name in node.input[:2] if name not in self.initializers] if self.static else []
        if self.mode == QuantizationMode.QLinearOps:
            needed.append(node.output[0])
        return [name for name in needed if name not in self.given]

    def should_quantize_node(self, node: NodeProto) -> bool:
        return bool(super().should_quantize_node(node)) and not self.missing(node)

    def quantize_bias_static(self, bias_name: str, input_name: str, weight_name: str, beta: float = 1.0) -> str:
        """round(bias / (input scale * weight scale)): by ORT where all three are constant, else at run time."""
        scales = [self.quantized_value_map[name].scale_name for name in (input_name, weight_name)]
        constants = {tensor.name for tensor in self.model.initializer()}
        if constants.issuperset((bias_name, *scales)):
            return str(super().quantize_bias_static(bias_name, input_name, weight_name, beta))
        prefix = f"{bias_name}_under_{input_name}_and_{weight_name}"
        self._constant(f"{prefix}_low", INT32_LOW)
        self._constant(f"{prefix}_high", INT32_HIGH)
        self.new_nodes += [
            helper.make_node("Mul", scales, [f"{prefix}_scale"], f"{prefix}_Mul"),
            helper.make_node("Div", [bias_name, f"{prefix}_scale"], [f"{prefix}_real"], f"{prefix}_Div"),
            helper.make_node("Round", [f"{prefix}_real"], [f"{prefix}_rounded"], f"{prefix}_Round"),
            helper.make_node(
                "Clip",
                [f"{prefix}_rounded", f"{prefix}_low", f"{prefix}_high"],
                [f"{prefix}_clipped"],
                f"{prefix}_Clip",
            ),
            helper.make_node(
                "Cast", [f"{prefix}_clipped"], [f"{prefix}_quantized"], f"{prefix}_Cast", to=TensorProto.INT32
            ),
        ]
        return f"{prefix}_quantized"

    def _get_dynamic_input_quantization_params_uint8(
        self, input_name: str, nodes_list: list[NodeProto], initial_type: int
    ) -> tuple[str, str, list[int], list[int]]:
        """scale = (max(x, 0) - min(x, 0)) / 255, zero point = round(-min(x, 0) / scale), as DynamicQuantizeLinear."""
        del initial_type
        scale, zero_point = f"{input_name}_scale", f"{input_name}_zero_point"
        names = {"x": input_name, "scale": scale, "zero_point": zero_point}
        for key, value in (("zero", 0.0), ("levels", 255.0), ("smallest", float(np.finfo(np.float32).tiny))):
            names[key] = f"{input_name}_dynamic_{key}"
            self._constant(names[key], value)
        steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
            ("ReduceMin", ["x"], "lowest", {"keepdims": 0}),
            ("Min", ["lowest", "zero"], "low", {}),
            ("ReduceMax", ["x"], "highest", {"keepdims": 0}),
            ("Max", ["highest", "zero"], "high", {}),
            ("Sub", ["high", "low"], "range", {}),
            ("Div", ["range", "levels"], "step", {}),
            ("Max", ["step", "smallest"], "scale", {}),  # an input of zeros has step 0
            ("Sub", ["zero", "low"], "depth", {}),
            ("Div", ["depth", "scale"], "offset", {}),
            ("Round", ["offset"], "rounded", {}),
            ("Clip", ["rounded", "zero", "levels"], "clipped", {}),
            ("Cast", ["clipped"], "zero_point", {"to": TensorProto.UINT8}),
        ]
        for op_type, inputs, key, attributes in steps:
            output = names.setdefault(key, f"{input_name}_dynamic_{key}")
            nodes_list.append(
                helper.make_node(
                    op_type, [names[name] for name in inputs], [output], f"{output}_{op_type}", **attributes
                )
            )
        return scale, zero_point, [], []

    def _constant(self, name: str, value: float) -> None:
        self.model.add_initializer(numpy_helper.from_array(np.array(value, np.float32), name))


class _LegacyCalibrater(MinMaxCalibrater):  # type: ignore[misc]
    """ORT's MinMax on the tensors that the old rule selects."""

    def __init__(self, model_path: Path, augmented_model_path: Path, tensors: Mapping[str, Any]) -> None:
        super().__init__(model_path, list(OP_TYPES), str(augmented_model_path))
        self.tensors = tensors

    def select_tensors_to_calibrate(self, model: ModelProto) -> tuple[set[str], Mapping[str, Any]]:
        return set(self.tensors), self.tensors


def _prepared(model: ModelProto) -> ModelProto:
    """A copy at opset 11 or later, with shapes, constants as initializers, and no bias shared by two nodes."""
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)
    if not opset:
        raise ModelError("the model imports no opset of the ONNX domain, so there is nothing to quantize in it")
    copy = ModelProto()
    copy.CopyFrom(model)
    if opset < OLDEST_OPSET:
        copy = onnx.version_converter.convert_version(copy, OLDEST_OPSET)
    graph = copy.graph
    for node in [node for node in graph.node if node.op_type == "Constant" and node.attribute[0].name == "value"]:
        graph.initializer.add().CopyFrom(node.attribute[0].t)
        graph.initializer[-1].name = node.output[0]
        graph.node.remove(node)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    uses = Counter(name for node in graph.node for name in node.input)
    for number, node in enumerate(graph.node):
        if node.op_type == "Conv" and len(node.input) == 3 and node.input[2] in tensors and uses[node.input[2]] > 1:
            own = TensorProto()
            own.CopyFrom(tensors[node.input[2]])
            own.name = node.input[2] = f"{node.input[2]}_of_node_{number}"
            graph.initializer.append(own)
    copy = onnx.shape_inference.infer_shapes(copy)
    add_infer_metadata(copy)
    return copy


def _given_parameters(params: object, model: ModelProto) -> dict[str, tuple[np.uint8, np.float32]]:
    """``{name: [zero_point, scale]}`` checked; names that are no activations of the model warn and are left out."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise OptionTypeError(f"quantization_params takes {{name: [zero_point, scale]}}, not {params!r}")
    activations = {value.name for value in model.graph.input}
    activations.update(name for node in model.graph.node for name in (*node.input, *node.output))
    activations -= {tensor.name for tensor in model.graph.initializer} | {""}
    given = {}
    for name, pair in params.items():
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise OptionTypeError(f"quantization_params[{name!r}] takes [zero_point, scale], not {pair!r}")
        try:
            zero_point, scale = float(pair[0]), float(pair[1])
        except (TypeError, ValueError) as error:
            raise OptionTypeError(f"quantization_params[{name!r}] takes two numbers, not {pair!r}") from error
        if not zero_point.is_integer() or not 0 <= zero_point <= 255:
            raise OptionError(f"quantization_params[{name!r}]: zero point {pair[0]!r} is no whole number from 0 to 255")
        if not np.isfinite(np.float32(scale)) or np.float32(scale) <= 0:
            raise OptionError(f"quantization_params[{name!r}]: scale {pair[1]!r} is not a positive float32")
        if name in activations:
            given[name] = (np.uint8(zero_point), np.float32(scale))
        else:
            message = f"quantization_params[{name!r}] has no effect: no activation has this name"
            warnings.warn(f"{message}{suggest(str(name), activations)}", OptionWarning, stacklevel=3)
    return given


def _check_names(names: Iterable[str], argument: str, model: ModelProto) -> None:
    known = {node.name for node in model.graph.node}
    for name in names:
        if name not in known:
            raise UnknownNameError(f"{argument}: no node is called {name!r}{suggest(name, known)}")


def _listed(names: object, argument: str) -> list[str]:
    """A list of names, or the comma-separated text that the old manual shows."""
    if names is None:
        return []
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    if isinstance(names, Iterable):
        listed = list(names)
        if all(isinstance(name, str) for name in listed):
            return listed
    raise OptionTypeError(f"{argument} takes a list of names or a comma-separated text, not {names!r}")


def _deprecated(old: str, today: str) -> None:
    warnings.warn(f"{old} is the interface of 2019; today's call is {today}", DeprecationWarning, stacklevel=3)


def quantize(
    model: ModelProto,
    per_channel: bool = False,
    nbits: int = 8,
    quantization_mode: QuantizationMode = QuantizationMode.IntegerOps,
    static: bool = False,
    asymmetric_input_types: bool = False,
    force_fusions: bool = False,
    quantization_params: Mapping[str, Sequence[Any]] | None = None,
    nodes_to_quantize: Sequence[str] | None = None,
) -> ModelProto:
    """A copy of ``model`` with its Conv and MatMul nodes in ConvInteger and MatMulInteger, or in their QLinear forms.

    ``quantization_params`` maps tensors to ``[zero_point, scale]``: inputs of the nodes if ``static``, outputs in mode
    QLinearOps; a node that lacks one stays float. ``asymmetric_input_types`` makes weights int8 instead of uint8.
    ``force_fusions`` writes dynamic quantization as one DynamicQuantizeLinear instead of single steps.
    """
    if not isinstance(model, ModelProto):
        raise OptionTypeError(f"quantize() takes a ModelProto, not {type(model).__name__}; use onnx.load(path)")
    if nbits != 8:
        raise UnsupportedError(
            f"nbits={nbits!r} is not supported, only 8; 4 and 16 bits are activation_type and weight_type of "
            "ort_vitis_plugin.quantize_static"
        )
    if not isinstance(quantization_mode, QuantizationMode):
        raise OptionTypeError(f"quantization_mode takes a member of QuantizationMode, not {quantization_mode!r}")
    linear = quantization_mode == QuantizationMode.QLinearOps
    if (static or linear) and not quantization_params:
        raise OptionError(
            f"quantization_mode={quantization_mode}, static={static} needs quantization_params; calibrate() gives them"
        )
    if linear:
        _deprecated("quantize()", "ort_vitis_plugin.quantize_static(..., quant_format=QuantFormat.QOperator)")
    else:
        _deprecated("quantize()", "ort_vitis_plugin.quantize_dynamic(model_input, model_output)")
    prepared = _prepared(model)
    _check_names(nodes_to_quantize or (), "nodes_to_quantize", prepared)
    quantizer = _LegacyQuantizer(
        prepared,
        _given_parameters(quantization_params, prepared),
        mode=quantization_mode,
        static=static,
        per_channel=per_channel,
        weight_type=QuantType.QInt8 if asymmetric_input_types else QuantType.QUInt8,
        fused=force_fusions,
        nodes_to_quantize=nodes_to_quantize or (),
    )
    _report_float_nodes(quantizer)
    quantizer.quantize_model()
    quantizer.model.topological_sort()
    result: ModelProto = quantizer.model.model
    return result


def _report_float_nodes(quantizer: _LegacyQuantizer) -> None:
    """One warning for nodes that stay float for want of parameters; an error if all of them do."""
    wanted = [node for node in quantizer.model.nodes() if ONNXQuantizer.should_quantize_node(quantizer, node)]
    lacking = {node.name or node.output[0]: missing for node in wanted if (missing := quantizer.missing(node))}
    if not lacking:
        return
    listed = "; ".join(f"{node}: {', '.join(tensors)}" for node, tensors in lacking.items())
    if len(lacking) == len(wanted):
        raise OptionError(f"no node can be quantized, for quantization_params lacks {listed}; calibrate() gives them")
    warnings.warn(f"these nodes stay float, for quantization_params lacks {listed}", OptionWarning, stacklevel=3)


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
    """
    _deprecated("calibrate()", "onnxruntime.quantization.create_calibrator(model, op_types)")
    if not Path(model_path).is_file():
        raise ModelNotFoundError(f"there is no model at {str(model_path)!r}")
    model = onnx.shape_inference.infer_shapes(onnx.load(model_path))
    types, black, white = (
        _listed(names, argument)
        for names, argument in ((op_types, "op_types"), (black_nodes, "black_nodes"), (white_nodes, "white_nodes"))
    )
    _check_names(black, "black_nodes", model)
    _check_names(white, "white_nodes", model)
    selected = [
        node
        for node in model.graph.node
        if (node.op_type in types and node.name not in black) or (node.name and node.name in white)
    ]
    tensors = _float_tensors(model, selected)
    if not tensors:
        raise OptionError(f"op_types={types} and white_nodes={white} select no node with a float tensor")
    with tempfile.TemporaryDirectory(prefix="ort_vitis_") as folder:
        onnx.save(model, Path(folder) / "model.onnx", save_as_external_data=True)
        augmented = Path(folder) / "augmented.onnx" if augmented_model_path is None else Path(augmented_model_path)
        ranges = _ranges(_LegacyCalibrater(Path(folder) / "model.onnx", augmented, tensors), data_reader)
    narrowed = _Narrowing(model)
    return {name: _zero_point_and_scale(*narrowed(name, *ends)) for name, ends in ranges.items()}


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


def _zero_point_and_scale(low: Any, high: Any) -> list[Any]:
    qmin, qmax = get_qmin_qmax_for_qType(TensorProto.UINT8)
    zero_point, scale = compute_scale_zp(np.array(low, np.float32), np.array(high, np.float32), qmin, qmax)
    return [np.uint8(zero_point), np.float32(scale)]
