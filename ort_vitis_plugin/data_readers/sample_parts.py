"""An item is a sample once its parts bear the names of the model's inputs; what else it holds is its label."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError, OptionTypeError, suggest
from .model_inputs import Input

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .convert_feed import Feed

Labelled = tuple["Feed", "NDArray[Any] | None"]

LABELS = ("label", "labels", "target", "targets", "y", "class", "fine_label", "coarse_label")


def is_sample(item: Any) -> bool:
    """Whether it can be one: an array or tensor, arrays by name, or a tuple or list of them."""
    return isinstance(item, (Mapping, tuple, list)) or hasattr(item, "shape")


def is_feed(item: Any, inputs: Mapping[str, Input]) -> bool:
    """Whether it is {input: array} as it is: no tensor of another library, no label."""
    return isinstance(item, Mapping) and not any(
        _is_tensor(value) or (name in LABELS and name not in inputs) for name, value in item.items()
    )


@dataclass(frozen=True)
class Naming:
    """Names of inputs in the order of an item's parts, and {input: name in the source}."""

    names: tuple[str, ...] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Input] | None = None

    @classmethod
    def of(cls, inputs: object) -> Naming:
        """From what ``calibration_data`` is given as ``inputs``.

        Raises:
            OptionTypeError: it is neither a name, a list of names nor a mapping of them.
        """
        if inputs is None:
            return cls()
        if isinstance(inputs, str):
            return cls((inputs,))
        texts = [*inputs.keys(), *inputs.values()] if isinstance(inputs, Mapping) else inputs
        if not isinstance(texts, Sequence) or not all(isinstance(name, str) for name in texts):
            raise OptionTypeError(f"inputs is a name, a list of names or {{input: name in the source}}, not {inputs!r}")
        if isinstance(inputs, Mapping):
            return cls(tuple(inputs), dict(inputs))
        return cls(tuple(texts))

    def with_inputs(self, inputs: Mapping[str, Input]) -> Naming:
        """With a model's inputs.

        Raises:
            CalibrationError: it has none of a given name.
        """
        for name in self.names or ():
            if name not in inputs:
                known = ", ".join(inputs)
                raise CalibrationError(f"inputs names {name!r}, but the model's are {known}{suggest(name, inputs)}")
        return replace(self, inputs=inputs)

    def taken(self) -> dict[str, Input]:
        """The model's inputs that the source feeds."""
        inputs = self.inputs or {}
        return {name: inputs[name] for name in self.names or inputs}

    def feed(self, item: Any, where: str, *, single: bool, table: bool, renames: bool) -> Labelled:
        """{input: array} and the label of one item; ``single``: its arrays lack the batch axis.

        Raises:
            CalibrationError: a part is missing or no array.
        """
        if isinstance(item, Mapping):
            return self._of_mapping(item, where, single=single, table=table, renames=renames)
        parts = _parts(item)
        names = self._names()
        if names is None:
            raise CalibrationError(f"{where} has no names; say which input it is: calibration_data(..., inputs='NAME')")
        if len(parts) not in (len(names), len(names) + 1):
            held = "one array" if len(parts) == 1 else f"{len(parts)} parts"
            hint = "save them as .npz, or give {input: array}" if len(parts) == 1 else "say inputs=[...]"
            raise CalibrationError(f"{where} holds {held}, but the model takes {', '.join(names)}; {hint}")
        feed = {name: self._array(name, part, where, single) for name, part in zip(names, parts, strict=False)}
        return feed, _label(parts[-1]) if len(parts) > len(names) else None

    def _names(self) -> tuple[str, ...] | None:
        return self.names or (None if self.inputs is None else tuple(self.inputs))

    def _of_mapping(self, item: Mapping[Any, Any], where: str, *, single: bool, table: bool, renames: bool) -> Labelled:
        inputs = self.inputs or {}
        labels = [key for key in LABELS if key in item and key not in inputs and key not in self.columns.values()]
        label = _label(item[labels[0]]) if labels else None
        data = [key for key in item if key not in labels]
        names = self._names()
        wanted = {name: self.columns.get(name, name) for name in (data if names is None else names)}
        if names is not None and (renames or table) and len(names) == len(data) == 1 and not self.columns:
            wanted = {names[0]: data[0]}
        strict = single or renames  # rows and files are told here; samples of a list when they are checked
        missing = [name for name, column in wanted.items() if column not in item]
        if missing and (strict or table or self.columns or not data):
            raise CalibrationError(
                f"{where} holds {', '.join(map(str, item)) or 'no array'}, but nothing for the input {missing[0]!r}"
                f"{suggest(missing[0], map(str, data)) or _say_columns(missing[0], data)}"
            )
        strange = [] if table or self.columns else [key for key in data if key not in wanted.values()]
        if strange and strict:
            known = ", ".join(inputs or wanted)
            raise CalibrationError(
                f"{where} holds {strange[0]!r}, but the model's inputs are {known}{suggest(str(strange[0]), wanted)}"
            )
        wanted |= {key: key for key in strange}
        convert = strict or table or bool(self.columns)
        return {
            name: self._array(name, item[column], where, single)
            if convert or _is_tensor(item[column])
            else item[column]
            for name, column in wanted.items()
            if column in item
        }, label

    def _array(self, name: str, value: Any, where: str, single: bool) -> NDArray[Any]:
        taken = (self.inputs or {}).get(name, Input(name))
        array = _to_array(name, value, where, taken)
        array = taken.cast(array, where)
        if taken.lacks_batch(array) or (single and taken.shape is None):
            array = array[None]
        return array


def _say_columns(name: str, data: Sequence[Any]) -> str:
    return f"; say inputs={{{name!r}: {str(data[0])!r}}}" if data else ""


def _parts(item: Any) -> list[Any]:
    if isinstance(item, tuple) or (isinstance(item, list) and any(hasattr(part, "shape") for part in item)):
        return list(item)
    return [item]


def _is_tensor(value: Any) -> bool:
    """Whether it is an array of another library than numpy."""
    return hasattr(value, "detach") or (hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray))


def _to_array(name: str, value: Any, where: str, taken: Input) -> NDArray[Any]:
    for step in ("detach", "cpu"):
        if hasattr(value, step):
            value = getattr(value, step)()
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":
        value = value.float()
    plain = isinstance(value, (list, tuple, int, float))
    try:
        array = np.asarray(value)
        if plain and taken.dtype is not None and taken.dtype.kind == "f" and array.dtype.kind in "iuf":
            array = array.astype(taken.dtype)
    except (ValueError, TypeError) as error:
        raise CalibrationError(f"{name!r} in {where} is no array: {error}") from error
    if array.dtype.kind in "OmMV" and taken.dtype is not None and array.dtype != taken.dtype:
        raise CalibrationError(f"{name!r} in {where} is {type(value).__name__}, not an array of numbers")
    if array.dtype.kind in "US" and taken.dtype is not None:
        raise CalibrationError(f"{name!r} in {where} is text, but the model takes {taken.dtype}")
    return array


def _label(value: Any) -> NDArray[Any] | None:
    for step in ("detach", "cpu"):
        if hasattr(value, step):
            value = getattr(value, step)()
    try:
        array = np.atleast_1d(np.asarray(value))
    except ValueError:
        return None
    return array if array.dtype.kind in "iu" and array.ndim == 1 else None
