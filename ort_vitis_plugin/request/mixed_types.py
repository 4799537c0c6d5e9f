"""Parts of a model may compute in types of their own: by op type, by node, by region."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import OptionTypeError, UnsupportedError

if TYPE_CHECKING:
    from ..numerics.qtypes import QType
    from ..plugin.catalog import Catalog

OPTION = "MixedTypes"
ARGUMENTS = ("activation_type", "weight_type")


@dataclass(frozen=True)
class TypePair:
    """The types of a node's data and of its weights."""

    activation: QType
    weight: QType


def mixed_types(stated: Mapping[str, object] | None, base: TypePair, catalog: Catalog) -> dict[str, TypePair]:
    """What MixedTypes says, key by key, with types for their names; what an entry leaves out is the call's own.

    Raises:
        OptionTypeError: an entry has another form.
        UnsupportedError: a type does not exist.
    """
    found = {}
    for key, value in (stated or {}).items():
        entry = dict(value) if isinstance(value, Mapping) else dict.fromkeys(ARGUMENTS, value)
        if not isinstance(key, str) or not entry or set(entry) - set(ARGUMENTS):
            raise OptionTypeError(
                f"{OPTION}[{key!r}] is {value!r}; it takes a type, or {{'activation_type': ..., 'weight_type': ...}}"
            )
        try:
            kinds = {argument: catalog.qtype(kind) for argument, kind in entry.items()}
        except UnsupportedError as error:
            raise UnsupportedError(f"{OPTION}[{key!r}]: {error}") from error
        found[key] = TypePair(kinds.get("activation_type", base.activation), kinds.get("weight_type", base.weight))
    return found
