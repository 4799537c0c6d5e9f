"""What a call will hold in memory is known roughly before it starts: weights, and tensors while they are read.

    bytes = 3 weights + 2 largest sum of tensors that are alive at a time

The message's weights, a session's copy and one packed for speed; activations in the session and as they are observed.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING

from onnx import helper

from ..errors import LimitError, OptionError
from ..onnx_io import external_weights

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..request.call import Call

WEIGHTS, ACTIVATIONS = 3, 2
UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:I?B)?\s*")


def check_memory(call: Call, model: ModelProto) -> None:
    """Refuse a model whose samples will need more memory than MaxMemory, by default than this machine has.

    Raises:
        LimitError: so it is; the message says how much would do.
    """
    limit = bytes_of(call.call.max_memory)
    needed = estimate(model)
    if limit is not None and needed > limit:
        raise LimitError(
            f"this model needs about {_text(needed)} of memory for one sample, more than the {_text(limit)} "
            f"{'of MaxMemory' if call.call.max_memory is not None else 'of this machine'}; give smaller samples, or "
            f"set MaxMemory to at least {_text(needed)} to try it all the same"
        )


def bytes_of(given: int | str | None) -> int | None:
    """A number of bytes, or text such as "4 GB"; by default the memory of this machine, None where it is unknown.

    Raises:
        OptionError: the text is no size.
    """
    if given is None:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return None
    if isinstance(given, int):
        return given
    found = _SIZE.fullmatch(given.upper())
    if found is None:
        raise OptionError(f"MaxMemory takes bytes or text such as '4 GB', not {given!r}")
    return int(float(found[1]) * UNITS[found[2]])


def estimate(model: ModelProto) -> int:
    """Bytes for one sample; tensors whose shapes the model does not state count nothing."""
    weights = external_weights.size(model) + sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    return WEIGHTS * weights + ACTIVATIONS * peak(model)


def peak(model: ModelProto) -> int:
    """The largest sum of the sizes of tensors that are alive at a time, in bytes, nodes run in their order."""
    sizes = _sizes(model)
    last = {name: at for at, node in enumerate(model.graph.node) for name in node.input}
    last |= {value.name: len(model.graph.node) for value in model.graph.output}
    alive = sum(sizes.get(value.name, 0) for value in model.graph.input)
    largest = alive
    for at, node in enumerate(model.graph.node):
        alive += sum(sizes.get(name, 0) for name in node.output if name)
        largest = max(largest, alive)
        done = {name for name in (*node.input, *node.output) if last.get(name, at) == at}
        alive -= sum(sizes.get(name, 0) for name in done)
    return largest


def _sizes(model: ModelProto) -> dict[str, int]:
    sizes = {}
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        tensor = value.type.tensor_type
        if value.name in constants or not tensor.elem_type or not tensor.HasField("shape"):
            continue
        dims = [dim.dim_value for dim in tensor.shape.dim]
        known = [dim for dim in dims if dim > 0]  # an open size counts as 1
        try:
            width = helper.tensor_dtype_to_np_dtype(tensor.elem_type).itemsize
        except (KeyError, ValueError, TypeError):
            continue
        sizes[value.name] = width * math.prod(known)
    return sizes


def _text(size: float) -> str:
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"
