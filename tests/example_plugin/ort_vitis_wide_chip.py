"""WideChip: an accelerator of 16-bit codes whose shifter moves right by at most 12 bits."""
# SPDX-License-Identifier: MIT

from collections.abc import Iterator

from onnx import NodeProto

from ort_vitis_plugin.api import Bound, Declaration, Graph, Plan, QType, Target, adjuster, fusion, hookimpl


def computes(kind: QType) -> bool:
    """Its multipliers take 16-bit integers, and nothing else."""
    return kind.is_integer and kind.bits == 16


def placement(graph: Graph, node: NodeProto) -> str | None:
    """Convolutions and what is fused into them."""
    return None if node.op_type in ("Conv", "Relu") else f"WideChip has no {node.op_type}"


WIDE_CHIP = Target(
    "wide_chip",
    "Any WideChip board.",
    defaults={"ActivationSymmetric": True},
    computes=computes,
    placement=placement,
)


@adjuster("WideChipShift", ops=("Conv",), target="wide_chip", needs=None)
def wide_chip_shift(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """wpos + ipos - opos <= 12."""
    x, w, y = plan.positions(node.input[0], node.input[1], plan.output_of(node))
    yield Bound(w + x - y, high=12, prefer=w)


@fusion("WideChipConvRelu", producers=("Conv",), consumers=("Relu",), target="wide_chip")
def wide_chip_conv_relu(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """The chip clips at zero while it writes."""
    return graph.sole_consumer(producer.output[0]) is consumer


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield WIDE_CHIP
    yield wide_chip_shift
    yield wide_chip_conv_relu
