"""onnxruntime's QDQQuantizer cut into mark, plan and emit; the only file that touches its private methods."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from onnx import TensorProto
from onnxruntime.quantization.operators.qdq_base_operator import QDQOperatorBase
from onnxruntime.quantization.qdq_quantizer import (
    QDQBiasQuantInfo,
    QDQQuantizer,
    QDQQuantTensorType,
    QDQTensorQuantInfo,
)
from onnxruntime.quantization.quant_utils import add_infer_metadata

from ..emission.emitter import Emission
from ..errors import OptionError
from ..onnx_io.ort_support import has_native_pairs
from . import Planner
from .ort_index import IndexedModel, indexed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto, NodeProto

    from ..calibration.statistics import Statistics
    from ..graph import Graph
    from ..numerics.qtypes import QType
    from ..plan import Plan
    from ..request.settings import Run

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
DOMAINS = ("", "ai.onnx", "com.microsoft")


class PlannedQDQQuantizer(QDQQuantizer):  # type: ignore[misc]
    """Marks tensors with onnxruntime's operator table (and the target's), plans their parameters, then emits.

    A format is a subclass. It may change ``quantize_op``, ``dequantize_op``, ``domain`` (of a pair, by type),
    ``keeps_float_weights``, ``fuses_pairs`` (one node, no pair), ``power_of_two_scales`` (whatever the method),
    ``minimum_opset`` (to which older models are raised first). One that writes quantized operators leaves the model of
    pairs that they mean in ``pairs``.
    """

    quantize_op = "QuantizeLinear"
    dequantize_op = "DequantizeLinear"
    fuses_pairs = False
    power_of_two_scales = False
    takes_float16 = True
    needs_native_pairs = False
    minimum_opset = 0
    pairs: ModelProto | None = None

    def __init__(self, run: Run, graph: Graph, statistics: Statistics) -> None:
        self.run, self.graph, self.statistics = run, graph, statistics
        request = run.request
        add_infer_metadata(graph.model)
        try:
            super().__init__(
                graph.model,
                request.per_channel,
                request.reduce_range,
                run.weight.element_type,
                run.activation.element_type,
                None,
                list(request.nodes_to_quantize),
                list(request.nodes_to_exclude),
                sorted(run.op_types),
                self._upstream_options(run),
            )
        except ValueError as error:
            raise OptionError(f"onnxruntime refuses the options: {error}") from error
        self.model = IndexedModel(graph)
        self.removable: list[NodeProto] = []
        self.marked_nodes: dict[str, NodeProto] = {}

    # ------------------------------------------------------------------ what a format may change

    def domain(self, kind: QType) -> str:
        """The operator domain of a pair; onnxruntime's for 4 and 16 bits below opset 21, and for opsets ahead of it."""
        if self.run.options["UseQDQContribOps"] or not has_native_pairs(self.opset_version):
            return "com.microsoft"
        return "com.microsoft" if kind.bits not in (8, 32) and self.opset_version < 21 else ""

    def operator(self, kind: QType, *, dequantize: bool) -> str:
        """The op type of one half of a pair."""
        return self.dequantize_op if dequantize else self.quantize_op

    def keeps_float_weights(self, kind: QType) -> bool:
        """Whether weights stay float with a pair behind them, instead of codes with a dequantize node."""
        return bool(self.add_qdq_pair_to_weight)

    def bias_kind(self, weight: QType) -> QType | None:
        """The type of biases with a scale of their own, or None for int32 with scale x * w."""
        return weight if self.run.target.bias_as_weight else None

    def pair_attributes(self, planned: Any) -> Mapping[str, object]:
        """Attributes of the nodes of a pair besides ``axis``."""
        return {}

    # ------------------------------------------------------------------ the three steps

    def plan(self) -> Plan:
        """Mark every selected node's tensors, then choose their parameters."""
        for node in self.graph.sorted():
            node = self.graph.simulated_node.get(node.name, node)
            if self.should_quantize_node(node):
                self.marked_nodes[node.name] = node
        waiting = [node for node in self.marked_nodes.values() if not self._marks(node)]
        # What moves data is quantized where its input is; another reader may have marked that one later.
        for node in waiting:
            self._marks(node)
        return Planner(self).plan()

    def emit(self, plan: Plan) -> ModelProto:
        """Write the planned pairs into the graph."""
        return Emission(self, plan).emit()

    # ------------------------------------------------------------------ marking, as onnxruntime's handlers call it

    def should_quantize_node(self, node: NodeProto) -> bool:
        if node.domain not in DOMAINS or node.name in self.graph.device_nodes:
            return False
        if node.op_type in (self.quantize_op, self.dequantize_op, "QuantizeLinear", "DequantizeLinear"):
            return False
        if (
            node.op_type == "MatMul"
            and self.run.options["MatMulConstBOnly"]
            and not self.graph.is_constant(node.input[1])
        ):
            return False
        return self.run.refusal(node) is None

    def calc_graph_quant_params(self) -> dict[str, Any]:
        return {}  # the planner chooses parameters, after marking

    def is_input_a_initializer(self, input_name: str) -> bool:
        return self.graph.is_constant(input_name)

    def is_valid_quantize_weight(self, weight_name: str) -> bool:
        return self.graph.is_constant(weight_name) and self.graph.element_type(weight_name) in FLOATS

    def is_tensor_per_channel(
        self, tensor_name: str, default_axis: int, op_type: str | None = None
    ) -> tuple[bool, int | None]:
        """A weight without that axis (the scale of a LayerNormalization, a vector) has one scale; onnxruntime warns."""
        axis = self.qdq_op_type_per_channel_support_to_axis.get(op_type, default_axis)
        weight = self.graph.initializers.get(tensor_name)
        named = self.tensor_quant_overrides.has_per_channel_overrides(tensor_name)
        if weight is not None and not named and not -len(weight.dims) <= axis < len(weight.dims):
            return False, None
        return cast("tuple[bool, int | None]", super().is_tensor_per_channel(tensor_name, default_axis, op_type))

    def quantize_activation_tensor(self, tensor_name: str) -> None:
        super().quantize_activation_tensor(self._written(tensor_name))

    def quantize_output_same_as_input(self, output_name: str, input_name: str, node_name: str) -> None:
        if not self.is_tensor_quantized(input_name):
            self.quantize_activation_tensor(output_name)
        elif output_name:
            super().quantize_output_same_as_input(self._written(output_name), input_name, node_name)

    def quantize_weight_tensor(self, tensor_name: str) -> None:
        if not self.graph.is_constant(tensor_name):
            self.quantize_activation_tensor(tensor_name)
            return
        known = self.tensors_to_quantize.get(tensor_name)
        if known is not None and known.axis is not None:
            return
        if known is not None and known.tensor_type is not QDQQuantTensorType.WEIGHT:
            # A weight that is an operand elsewhere too is a weight, in whatever order the nodes come.
            del self.tensors_to_quantize[tensor_name]
        super().quantize_weight_tensor(tensor_name)

    def quantize_weight_tensor_per_channel(self, tensor_name: str, axis: int) -> None:
        known = self.tensors_to_quantize.get(tensor_name)
        if self._node.op_type == "MatMul" and not self._holds_columns(tensor_name):
            if known is not None and known.axis is not None:
                tensor_name = self._own_copy(tensor_name, slice(2))
            self.quantize_weight_tensor(tensor_name)
            return
        if not self.is_valid_quantize_weight(tensor_name):
            self.quantize_weight_tensor(tensor_name)
            return
        if known is not None and known.axis != axis:
            tensor_name = self._own_copy(tensor_name, slice(2))
        self.tensors_to_quantize[tensor_name] = QDQTensorQuantInfo(
            tensor_type=QDQQuantTensorType.WEIGHT, axis=axis, data_type=self.graph.element_type(tensor_name)
        )

    def quantize_bias_tensor(
        self, node_name: str, bias_name: str, input_name: str, weight_name: str, beta: float = 1.0
    ) -> None:
        if not bias_name or not self.quantize_bias or not self.is_valid_quantize_weight(bias_name):
            return
        if self.graph.sole_consumer(bias_name) is None or self.is_tensor_quantized(bias_name):
            bias_name = self._own_copy(bias_name, slice(2, None))
        self.bias_to_quantize[bias_name] = QDQBiasQuantInfo(node_name, input_name, weight_name, beta)

    def try_replacing_upstream_output(self, upstream_output_name: str, output_name: str) -> bool:
        """Asked for a Relu or Clip: only the parameters can tell whether saturation replaces it."""
        node = self.graph.producer(output_name)
        if node is not None:
            self.removable.append(node)
        return False

    # ------------------------------------------------------------------ inside

    def _is_tensor_quantizable(self, tensor_name: str) -> bool:
        return bool(tensor_name) and self.graph.element_type(tensor_name) in FLOATS

    def _get_tensor_type(self, tensor_name: str) -> int | None:
        return self.graph.element_type(tensor_name) or None

    def _written(self, tensor_name: str) -> str:
        while tensor_name in self.graph.device_output:
            tensor_name = self.graph.device_output[tensor_name]
        return tensor_name

    def _marks(self, node: NodeProto) -> bool:
        """Let the handler of the node mark its tensors; whether it marked any."""
        before = len(self.tensors_to_quantize) + len(self.bias_to_quantize)
        self._handler(node).quantize()
        return len(self.tensors_to_quantize) + len(self.bias_to_quantize) > before

    def _handler(self, node: NodeProto) -> Any:
        self._node = node
        handler = self.run.catalog.op_quantizer(node.op_type, self.run.lineage) or QDQOperatorBase
        return indexed(cast(Hashable, handler))(self, node)

    def _holds_columns(self, tensor_name: str) -> bool:
        """Whether the MatMul has a scale for each column of the constant: of a matrix on its right.

        onnxruntime's kernels take one scale for the left operand, and no list of scales for stacked matrices.
        """
        left, right = self._node.input
        return tensor_name == right != left and len(self.graph.shape(right) or ()) == 2

    def _own_copy(self, tensor_name: str, where: slice) -> str:
        """Give some inputs of the node being marked a constant of their own, where others need other parameters."""
        array = self.graph.array(tensor_name)
        copy = self.graph.add_initializer(tensor_name, np.asarray(array))
        self.initializers[copy] = self.graph.initializers[copy]
        inputs = list(self._node.input)
        inputs[where] = [copy if name == tensor_name else name for name in inputs[where]]
        self.graph.set_inputs(self._node, inputs)
        overrides = self.tensor_quant_overrides.get(tensor_name)
        if overrides:
            self.tensor_quant_overrides[copy] = overrides
        return copy

    @staticmethod
    def _upstream_options(run: Run) -> dict[str, Any]:
        options = {key: run.options[key] for key in run.options if key in run.catalog.upstream_keys}
        options.update({key: run.options[key] for key in run.options if key not in run.catalog.options})
        options["UseQDQContribOps"] = True  # else it warns of 16-bit types; ``domain`` decides
        options["OpTypesToExcludeOutputQuantization"] = options.get("OpTypesToExcludeOutputQuantization") or []
        return options
