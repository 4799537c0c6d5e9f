"""A model carries each of its model-local functions once, with the domain and IR version that they need."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import FunctionProto, ModelProto, helper

from ..graph.subgraphs import all_nodes
from .domains import CONTRIB_DOMAIN, QUARK_DOMAIN, VAI_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

FUNCTIONS_IR = 8  # the first version that knows them


def put_functions(
    model: ModelProto, functions: Sequence[FunctionProto], owned: Collection[tuple[str, str]], domains: Collection[str]
) -> None:
    """Give the model these functions in place of all whose (domain, name) is ``owned``, and import ``domains``."""
    others = [function for function in model.functions if (function.domain, function.name) not in owned]
    del model.functions[:]
    model.functions.extend([*others, *functions])
    imported = {entry.domain for entry in model.opset_import}
    model.opset_import.extend(helper.make_opsetid(domain, 1) for domain in sorted(set(domains) - imported))
    if functions:
        model.ir_version = max(model.ir_version, FUNCTIONS_IR)


def drop_unused_domains(model: ModelProto) -> None:
    """Take out the imports of our domains that no node, in a body or not, and no function is of any more."""
    used = {node.domain for node in all_nodes(model)} | {function.domain for function in model.functions}
    unused = {VAI_DOMAIN, QUARK_DOMAIN, CONTRIB_DOMAIN} - used
    kept = [entry for entry in model.opset_import if entry.domain not in unused]
    del model.opset_import[:]
    model.opset_import.extend(kept)
