"""A caller's samples, checked against the model's inputs; the first are remembered."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from ..errors import CalibrationError, suggest
from .convert_feed import adapt_feed, interface
from .data_objects import reader_for
from .items import WAYS
from .sources import between, feeds_of, is_data_set, makes_readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from .convert_feed import Feed


class Samples:
    """A caller's samples as an iterable of checked feeds: whatever ``calibration_data`` takes, or a data reader.

    It may also be a function (or class) without arguments that makes one of these, anew for every pass.
    ``converted`` says that the model's inputs will change (layout, float type): then samples for either are taken.
    ``keep`` bytes of samples stay in memory for readers that can be read only once, or none if they are more.
    """

    def __init__(
        self, reader: Any, model: ModelProto, *, remember: int = 0, converted: bool = False, keep: int = 0
    ) -> None:
        self.reader, self._remember = reader_for(reader, model), remember
        self._original = interface(model) if converted else None
        self._range: tuple[int, int] | None = None
        self._inputs = {
            value.name: value
            for value in model.graph.input
            if value.name not in {t.name for t in model.graph.initializer}
        }
        self._overridable = {value.name for value in model.graph.input} - self._inputs.keys()
        self.adapters: list[Callable[[Feed], Feed]] = []
        self.remembered: list[Feed] = []
        self._kept: list[Feed] = []
        self._room, self._passes = keep, 0

    def __len__(self) -> int:
        """Number of samples, 0 where the reader does not know it."""
        try:
            return len(self.reader)
        except (TypeError, AttributeError, NotImplementedError):
            return 0

    def rewind(self) -> bool:
        """Start again; False where the reader can be read only once."""
        if not makes_readers(self.reader) and hasattr(self.reader, "rewind"):
            try:
                self.reader.rewind()
            except NotImplementedError:
                return False
            return True
        return makes_readers(self.reader) or not (hasattr(self.reader, "get_next") or isinstance(self.reader, Iterator))

    def again(self) -> Iterable[Feed]:
        """All samples once more. Those of a reader that can be read only once are as the original model takes them:
        the ones kept, or the first ones, where they are too large."""
        return self if self.rewind() else list(self._kept or self.remembered)

    def set_range(self, start_index: int, end_index: int) -> None:
        """Give only these samples, of a reader that ``is_ranged``."""
        self._range, self._remember = (start_index, end_index), 0

    def some(self) -> list[Feed]:
        """The first samples, as the original model takes them; read now if nothing has read them yet."""
        if not self.remembered:
            for _ in zip(range(self._remember), self, strict=False):
                pass
        return self.remembered

    def __iter__(self) -> Iterator[Feed]:
        self._passes += 1
        for number, feed in enumerate(self._raw()):
            if self._original is not None:
                feed = adapt_feed(self._original, feed)
            if number == 0:
                self._check(feed)
            if number < self._remember:
                self.remembered.append(feed)
            self._keep(feed)
            for adapter in self.adapters:
                feed = adapter(feed)
            yield feed

    def _keep(self, feed: Feed) -> None:
        if self._room <= 0 or self._passes > 1:
            return
        self._room -= sum(np.asarray(array).nbytes for array in feed.values())
        if self._room > 0:
            self._kept.append(feed)
        else:
            self._kept.clear()

    def _raw(self) -> Iterator[Feed]:
        reader = self.reader() if makes_readers(self.reader) else self.reader
        if self._range is not None:
            reader = between(reader, *self._range)
        reads_on = hasattr(reader, "get_next")
        if not (reads_on or isinstance(reader, Iterable) or is_data_set(reader)):
            raise CalibrationError(f"calibration_data_reader is {type(reader).__name__}; give {WAYS}")
        for feed in feeds_of(reader):
            if not isinstance(feed, Mapping):
                raise CalibrationError(
                    f"the reader yields {type(feed).__name__}, not {{input name: array}}; "
                    "calibration_data(reader, inputs='NAME') names arrays"
                )
            if reads_on and not feed:
                return
            yield dict(feed)

    def _check(self, feed: Feed) -> None:
        expected = self._inputs
        unknown = [name for name in feed if name not in expected and name not in self._overridable]
        if unknown:
            raise CalibrationError(
                f"the reader feeds {unknown[0]!r}, but the model's inputs are {', '.join(expected)}"
                f"{suggest(str(unknown[0]), expected)}"
            )
        missing = [
            name for name, value in expected.items() if name not in feed and not value.type.HasField("optional_type")
        ]
        if missing:
            raise CalibrationError(f"the reader does not feed the input {missing[0]!r}; it feeds {', '.join(feed)}")
        for name, array in feed.items():
            if name in expected and expected[name].type.HasField("tensor_type"):
                _check_array(name, array, expected[name].type.tensor_type)


def _check_array(name: str, array: Any, declared: Any) -> None:
    given = np.asarray(array)
    if declared.elem_type not in (TensorProto.UNDEFINED, TensorProto.STRING):
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(declared.elem_type))
        if given.dtype != dtype and not (isinstance(array, (list, float, int)) and not isinstance(array, np.ndarray)):
            raise CalibrationError(
                f"the reader feeds {name} as {given.dtype}, but the model takes {dtype}; "
                f"convert with .astype({dtype.name!r})"
            )
    if not declared.HasField("shape"):
        return
    dims: Sequence[Any] = declared.shape.dim
    if len(dims) != given.ndim or any(
        dim.HasField("dim_value") and dim.dim_value not in (size, -1)
        for dim, size in zip(dims, given.shape, strict=False)
    ):
        wanted = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims]
        raise CalibrationError(f"the reader feeds {name} with shape {list(given.shape)}, but the model takes {wanted}")
