"""Configurations of clients spell out every default of onnxruntime: what only repeats one is nobody's wish.

``get_qdq_config`` and Olive always write ActivationSymmetric=False and list every op type of the model. Where the call
names a target, the target's own values hold instead.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from ..onnx_io.load import load_model
from ..options import options as option_parser
from ..options.options import OptionWarning
from ..options.ort_options import OrtOptions
from ..request.settings import held_by_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..options.request import Request
    from ..plugin.catalog import Catalog

# What clients leave out of their lists: nothing that a quantizer could select.
UNLISTED = frozenset({"Cast", "Constant", "DequantizeLinear", "QuantizeLinear"})


def wishes(request: Request, catalog: Catalog) -> Request:
    """The request without what repeats onnxruntime's defaults where the target that it names says otherwise.

    One OptionWarning tells what was not taken for a wish.
    """
    target, held = held_by_target(request, catalog)
    if target is None:
        return request
    declared = {known.key: known for known in OrtOptions.options()}
    repeated = {
        key: (value, held[known])
        for key, value in request.given.items()
        if (known := option_parser.resolve(key, declared)) in held
        and value in (declared[known].default, None)
        and value != held[known]
    }
    told = [f"{key}={value!r} ({key}={own!r} holds)" for key, (value, own) in repeated.items()]
    given = {key: value for key, value in request.given.items() if key not in repeated}
    op_types = request.op_types
    own_types = target.op_types
    if (
        op_types
        and own_types is not None
        and not set(op_types) <= own_types
        and set(_op_types(request)) <= set(op_types)
    ):
        told.append("op_types_to_quantize with every op type of the model (the target's own hold)")
        op_types = ()
    if told:
        warnings.warn(
            f"the target {target.name} goes before what only repeats onnxruntime's defaults: {', '.join(told)}; "
            "ort_vitis_plugin.quantize_static takes them as they are written",
            OptionWarning,
            stacklevel=6,
        )
    return replace(request, given=given, op_types=op_types)


def _op_types(request: Request) -> Iterator[str]:
    model = load_model(request.model, data=False)
    excluded = set(request.nodes_to_exclude)
    return (node.op_type for node in model.graph.node if node.op_type not in UNLISTED and node.name not in excluded)
