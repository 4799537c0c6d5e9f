"""A constant that takes other values has another curve of errors; a bias also takes the position that suits them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper

from ..plan import Role
from ..plan.error_curve import ErrorCurve
from ..plugin.methods import TensorFacts
from ..sketch import Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plan import Plan
    from ..plugin.context import Context


def change_constant(plan: Plan, name: str, values: NDArray[Any], context: Context) -> None:
    """Give an initializer of the plan's graph other values, of the same number; its shape and type stay.

    What is not planned, or has no curve, only changes its values. A weight keeps its position.
    """
    before = plan.graph.array(name)
    assert before is not None
    new = np.ascontiguousarray(values.reshape(before.shape).astype(before.dtype))
    plan.graph.put_initializer(numpy_helper.from_array(new, name))
    planned = plan.tensors.get(name)
    if planned is None or not isinstance(planned.curve, ErrorCurve):
        return
    sketch = Sketch()
    sketch.add(new)
    planned.curve = replace(planned.curve, sketch=sketch, values=new, exact={}, _known={})
    if planned.role is Role.BIAS:
        planned.move(context.method.position_of(planned.curve, TensorFacts(name, Role.BIAS, context, values=new)))
