"""Steps that depend on the shapes of a call alone need to run once for each shape."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ort_vitis_plugin.api import DEFAULT_DOMAINS, SIZE_OPS

from .slots import DOMAIN
from .step import Step

# Operators whose results have shapes that follow from values, and those that draw.
UNKNOWN_SHAPES = frozenset({"Compress", "If", "Loop", "NonMaxSuppression", "NonZero", "Scan", "Unique"})
NEVER_THE_SAME = frozenset({"BatchNormalization", "Bernoulli", "Dropout", "Multinomial"})
RANDOM = "Random"

# {op type: inputs whose values decide the shape of the result}.
DECIDE: Mapping[str, tuple[int, ...]] = {
    "CenterCropPad": (1,),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}


def shape_steps(
    steps: Sequence[Step], inputs: Collection[str], constants: Collection[str], held: Collection[str]
) -> set[int]:
    """The places of steps whose results follow from the shapes of ``inputs``.

    ``constants`` are tensors that never change; ``held`` are floats that only training changes, never their shape.
    """
    shaped = {"", *inputs, *constants, *held}
    fixed = {"", *constants}
    found = set()
    for at, step in enumerate(steps):
        op_type, names = step.node.op_type, step.inputs
        if step.node.domain == DOMAIN:
            shaped.update(step.outputs if shaped.issuperset(names) else ())
            continue
        if step.node.domain not in DEFAULT_DOMAINS or op_type in UNKNOWN_SHAPES:
            continue
        if op_type in SIZE_OPS:
            is_fixed = names[0] in shaped
        else:
            draws = op_type in NEVER_THE_SAME or op_type.startswith(RANDOM)
            is_fixed = fixed.issuperset(names) and not draws
        if is_fixed:
            found.add(at)
            fixed.update(step.outputs)
        decide = DECIDE.get(op_type, (1,) if op_type.startswith("Reduce") else ())
        known = all(names[place] in fixed or names[place] in held for place in decide if place < len(names))
        if shaped.issuperset(names) and known:
            shaped.update(step.outputs)
    return found
