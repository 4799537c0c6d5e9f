"""A tensor in a block format passes one node, whose blocks lie along the axis that its readers sum over."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ort_vitis_plugin.api import Format, Graph, PairWriter, QType, Scaling, VitisQuantFormat, qtype
from ort_vitis_plugin.convert.op_domains import rename_ops

from .block_options import BlockOptions
from .constant_grid import constant_grid
from .lone_elements import is_alone
from .op_attributes import QUARK_DOMAIN, VAI_DOMAIN
from .quantized_types import BlockQType
from .reduction_axis import default_axis, reduction_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.api import Multiples, Pair, Skip, TensorPlan

SHOWN = 5
HALF_FLOAT_OPSET = 15
"""The functions of half floats compute with CastLike."""


class BlockWriter(PairWriter):
    """Block types in one node; half floats as Vitis pairs, weights float before them; integers as onnxruntime has them.

    Biases beside block types stay float: the device adds them to sums that no block holds.
    """

    takes_float16 = False
    minimum_opset = HALF_FLOAT_OPSET

    def __init__(self, settings: Any, graph: Graph) -> None:
        super().__init__(settings, graph)
        self._padded: dict[str, str] = {}
        self._constants: dict[str, TensorPlan] = {}

    def kind_of(self, tensor: str, kind: QType) -> QType:
        """bfloat16 for elements that would be alone in their blocks."""
        if not isinstance(kind, BlockQType) or not self.settings.options[BlockOptions].lone_elements_as_bfloat16:
            return kind
        return qtype("QBFloat16") if is_alone(self.graph, tensor, kind) else kind

    @classmethod
    def constant_grid(cls, node: NodeProto, array: NDArray[np.float32]) -> Multiples | None:
        return constant_grid(node, array)

    def writes_one_node(self, kind: QType) -> bool:
        return isinstance(kind, BlockQType)

    def domain(self, kind: QType) -> str:
        return VAI_DOMAIN if kind.scaling in (Scaling.NONE, Scaling.UNIT) else super().domain(kind)

    def operator(self, kind: QType, *, dequantize: bool) -> str:
        if isinstance(kind, BlockQType):
            return kind.block.op_type()
        name = super().operator(kind, dequantize=dequantize)
        return f"Vitis{name}" if kind.scaling is Scaling.UNIT else name

    def keeps_float_weights(self, kind: QType) -> bool:
        return kind.scaling is Scaling.UNIT or super().keeps_float_weights(kind)

    def attributes(self, planned: TensorPlan, *, dequantize: bool) -> Mapping[str, object]:
        kind = planned.kind
        if not isinstance(kind, BlockQType):
            return super().attributes(planned, dequantize=dequantize)
        return kind.block.attributes(self._axis(planned))

    def _axis(self, planned: TensorPlan) -> int:
        """Where the blocks of a tensor lie; a length that blocks do not fill is remembered."""
        axis = planned.axis if planned.axis is not None else default_axis(self.graph, planned.name)
        shape = self.graph.shape(planned.name) or ()
        length = shape[axis] if -len(shape) <= axis < len(shape) else None
        if isinstance(planned.kind, BlockQType) and isinstance(length, int) and length % planned.kind.block.block:
            self._padded[planned.name] = f"{planned.name} ({length})"
        return axis

    def read_axis(self, pair: Pair, reader: NodeProto, index: int) -> int | None:
        is_block = isinstance(pair.parameters.kind, BlockQType)
        return reduction_axis(self.graph, reader, index) if is_block else None

    def own_axis(self, pair: Pair) -> int | None:
        return default_axis(self.graph, pair.tensor) if isinstance(pair.parameters.kind, BlockQType) else None

    def write_constant(self, planned: TensorPlan, array: NDArray[Any]) -> str:
        end = super().write_constant(planned, array)
        if isinstance(planned.kind, BlockQType):
            self._constants[end] = planned
        return end

    def finish(self, model: ModelProto, skips: list[Skip]) -> ModelProto:
        if self._padded:
            shown = ", ".join(list(self._padded.values())[:SHOWN])
            more = f" and {len(self._padded) - SHOWN} more" if len(self._padded) > SHOWN else ""
            self.settings.note(f"lengths that blocks do not fill are padded with zeros: {shown}{more}")
        if self.settings.options[BlockOptions].fold_constant_blocks:
            model = self._folded(model)
        return rename_ops(model, QUARK_DOMAIN) if self.settings.options[BlockOptions].use_quark_ops else model

    def _folded(self, model: ModelProto) -> ModelProto:
        """A copy in which constants are rounded to their blocks, after corrections have had their way with them."""
        graph = Graph(model)
        for end, planned in self._constants.items():
            node, kind = graph.producer(end), planned.kind
            array = graph.array(node.input[0]) if node is not None else None
            if node is None or array is None:
                continue
            assert isinstance(kind, BlockQType)
            rounded = kind.block.quantize_dequantize(array, self._axis(planned)).astype(array.dtype)
            graph.replace_uses(end, graph.add_initializer(f"{planned.name}_blocks", rounded))
            graph.remove(node)
        return graph.write_back()


def _beside_blocks(kind: QType) -> bool:
    """Types that other parts of a model in blocks may have."""
    return kind.scaling is Scaling.UNIT or (kind.is_integer and kind.bits == 8)


def _accepts_bfp(kind: QType) -> bool:
    return not kind.block.is_mx if isinstance(kind, BlockQType) else _beside_blocks(kind)


def _accepts_mx(kind: QType) -> bool:
    return kind.block.is_mx if isinstance(kind, BlockQType) else _beside_blocks(kind)


BFP_FIX_NEURON = Format(
    VitisQuantFormat.BFPFixNeuron,
    "BFPFixNeuron nodes: integers that share an exponent; half floats and 8 bits beside them.",
    BlockWriter,
    _accepts_bfp,
)
MX_FIX_NEURON = Format(
    VitisQuantFormat.MXFixNeuron,
    "MXFixNeuron nodes: the microscaling types; half floats and 8 bits beside them.",
    BlockWriter,
    _accepts_mx,
)
