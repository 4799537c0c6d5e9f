"""Which tensors an operator quantizes is onnxruntime's to say: its QDQQuantizer, for this and nothing else."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from onnxruntime.quantization.operators.qdq_base_operator import QDQOperatorBase
from onnxruntime.quantization.qdq_quantizer import (
    QDQBiasQuantInfo,
    QDQQuantizer,
    QDQQuantTensorType,
    QDQTensorQuantInfo,
)
from onnxruntime.quantization.quant_utils import add_infer_metadata
from onnxruntime.quantization.registry import QDQRegistry

from ..errors import OptionError, UnsupportedError
from ..graph.element_types import QUANTIZED_FLOATS
from ..graph.nodes import ORT_DOMAINS
from ..options.ort_options import OrtOptions
from ..plan import Int32Bias, Role
from ..plan.marks import Marks, TensorMark
from .ort_index import IndexedModel, indexed

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..plugin.catalog import Catalog
    from ..request.call import Call

PER_TENSOR = "{weight} has one scale: onnxruntime runs no list of them at that operand of {node}"
PAIR = ("QuantizeLinear", "DequantizeLinear")


class Marker(QDQQuantizer):  # type: ignore[misc]
    """Marks the tensors of one graph with onnxruntime's operator table (and the target's).

    A format that needs other tensors than onnxruntime's brings a subclass. Whatever the marking handlers ask of their
    quantizer is answered from the graph's index.
    """

    def __init__(self, graph: Graph, settings: Call) -> None:
        self.graph, self.settings = graph, settings
        request, options = settings.request, self._upstream_options(settings)
        add_infer_metadata(graph.model)
        try:
            super().__init__(
                graph.model,
                request.per_channel,
                request.reduce_range,
                settings.weight.element_type,
                settings.activation.element_type,
                None,
                list(request.nodes_to_quantize),
                list(request.nodes_to_exclude),
                sorted(settings.op_types),
                options,
            )
        except ValueError as error:
            raise OptionError(f"onnxruntime refuses the options: {error}") from error
        self.model = IndexedModel(graph)
        self.removable: list[NodeProto] = []

    @cached_property
    def marks(self) -> Marks:
        """The marks of every selected node; nodes that share a constant may get copies of it."""
        nodes: dict[str, NodeProto] = {}
        for node in self.graph.sorted():
            node = self.graph.simulated_node.get(node.name, node)
            if self.should_quantize_node(node):
                nodes[node.name] = node
        waiting = [node for node in nodes.values() if not self._marks(node)]
        # What moves data is quantized where its input is; another reader may have marked that one later.
        for node in waiting:
            self._marks(node)
        return Marks(
            self.graph,
            nodes,
            {name: _tensor_mark(info) for name, info in self.tensors_to_quantize.items()},
            {name: _bias_mark(info) for name, info in self.bias_to_quantize.items()},
            tuple(self.removable),
            dict(self.tensor_quant_overrides),
            bool(self.dedicated_qdq_pair),
        )

    # ------------------------------------------------------------------ marking, as onnxruntime's handlers call it

    def should_quantize_node(self, node: NodeProto) -> bool:
        if node.domain not in ORT_DOMAINS or node.name in self.graph.device_nodes:
            return False
        if node.op_type in PAIR:
            return False
        constant_only = node.op_type == "MatMul" and self.settings.options[OrtOptions].mat_mul_const_b_only
        if constant_only and not self.graph.is_constant(node.input[1]):
            return False
        return self.settings.refusal(node) is None

    def handler(self, node: NodeProto) -> Any:
        """What marks the tensors of a node when ``quantize`` is called; a subclass may bring its own."""
        handler = self.settings.catalog.op_quantizer(node.op_type, self.settings.lineage)
        handler = handler or QDQRegistry.get(node.op_type, QDQOperatorBase)
        return indexed(cast(Hashable, handler))(self, node)

    def calc_graph_quant_params(self) -> dict[str, Any]:
        return {}  # the planner chooses parameters, after marking

    def is_input_a_initializer(self, input_name: str) -> bool:
        return self.graph.is_constant(input_name)

    def is_valid_quantize_weight(self, weight_name: str) -> bool:
        return self.graph.is_constant(weight_name) and self.graph.element_type(weight_name) in QUANTIZED_FLOATS

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
            if self.is_valid_quantize_weight(tensor_name):
                self.settings.note(PER_TENSOR.format(weight=tensor_name, node=self._node.name))
            self.quantize_weight_tensor(tensor_name)
            return
        if not self.is_valid_quantize_weight(tensor_name):
            self.quantize_weight_tensor(tensor_name)
            return
        stated = self.tensor_quant_overrides.has_per_channel_overrides(tensor_name)
        stated = stated or "MatMul" in self.qdq_op_type_per_channel_support_to_axis
        if self._node.op_type == "MatMul" and not stated:
            axis = len(self.graph.shape(tensor_name) or ()) - 1
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
        return bool(tensor_name) and self.graph.element_type(tensor_name) in QUANTIZED_FLOATS

    def _get_tensor_type(self, tensor_name: str) -> int | None:
        return self.graph.element_type(tensor_name) or None

    def _written(self, tensor_name: str) -> str:
        while tensor_name in self.graph.device_output:
            tensor_name = self.graph.device_output[tensor_name]
        return tensor_name

    def _marks(self, node: NodeProto) -> bool:
        """Let the handler of the node mark its tensors; whether it marked any."""
        before = len(self.tensors_to_quantize) + len(self.bias_to_quantize)
        self._node = node
        self.handler(node).quantize()
        return len(self.tensors_to_quantize) + len(self.bias_to_quantize) > before

    def _holds_columns(self, tensor_name: str) -> bool:
        """Whether the MatMul has a scale for each column of the constant: of matrices on its right.

        onnxruntime's kernels take one scale for the left operand, and no list of zero points for stacked matrices.
        """
        left, right = self._node.input
        rank = len(self.graph.shape(right) or ())
        return tensor_name == right != left and (rank == 2 or (rank > 2 and self.settings.weight.is_signed))

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
    def _upstream_options(settings: Call) -> dict[str, Any]:
        given = settings.options
        options = {key: given[key] for key in given if key in settings.catalog.upstream_keys}
        options.update({key: given[key] for key in given if key not in settings.catalog.options})
        options["UseQDQContribOps"] = True  # else it warns of 16-bit types; the writer decides
        options["OpTypesToExcludeOutputQuantization"] = options.get("OpTypesToExcludeOutputQuantization") or []
        overrides = options.get("TensorQuantOverrides")
        if isinstance(overrides, Mapping):
            options["TensorQuantOverrides"] = {
                name: _with_types(name, stated, settings.catalog) for name, stated in overrides.items()
            }
        return options


def _with_types(name: str, stated: Any, catalog: Catalog) -> Any:
    """What the caller states of a tensor, with types for their names; what has another form onnxruntime refuses."""
    if isinstance(stated, (list, tuple)):
        return [_with_types(name, entry, catalog) for entry in stated]
    if not isinstance(stated, Mapping):
        return stated
    found = dict(stated)
    if "convert" in found:
        found["convert"] = _with_types(name, found["convert"], catalog)
    if "quant_type" in found:
        try:
            found["quant_type"] = catalog.qtype(found["quant_type"])
        except UnsupportedError as error:
            raise UnsupportedError(f"TensorQuantOverrides[{name!r}]: {error}") from error
    return found


def _tensor_mark(info: QDQTensorQuantInfo) -> TensorMark:
    role = Role.WEIGHT if info.tensor_type is QDQQuantTensorType.WEIGHT else Role.ACTIVATION
    return TensorMark(role, info.axis, info.quant_para_provider.input_name if info.is_shared else None)


def _bias_mark(info: QDQBiasQuantInfo) -> Int32Bias:
    return Int32Bias(info.node_name, info.input_name, info.weight_name, info.beta)
