"""TinyChip: an int8 accelerator whose shifter moves right by at most 8 bits."""

from collections.abc import Iterator

from onnx import NodeProto

from ort_vitis_plugin.api import Bound, Declaration, Plan, Target, adjuster, hookimpl

TINY_CHIP = Target("tiny_chip", "Any TinyChip board.", defaults={"ActivationSymmetric": True})


@adjuster("TinyChipShift", ops=("Conv", "Gemm"), target="tiny_chip")
def tiny_chip_shift(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """wpos + ipos - opos <= 8."""
    x, w, y = plan.positions(node.input[0], node.input[1], plan.output_of(node))
    yield Bound(w + x - y, high=8, prefer=w)


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield TINY_CHIP
    yield tiny_chip_shift
