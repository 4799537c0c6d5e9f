"""A caller's samples, checked against the model's inputs; the first are remembered."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from ..errors import CalibrationError, suggest
from ..foreign import callers_code
from .convert_feed import adapt_feed, copied, interface
from .data_objects import reader_for
from .items import WAYS
from .sources import between, feeds_of, is_data_set, length_of, makes_readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from .convert_feed import Feed


class Samples:
    """A caller's samples as an iterable of checked feeds: whatever ``calibration_data`` takes, or a data reader.

    It may also be a function (or class) without arguments that makes one of these, anew for every pass.
    ``converted`` says that the model's inputs will change (layout, float type): then samples for either are taken.
    """

    def __init__(self, reader: Any, model: ModelProto, *, remember: int = 0, converted: bool = False) -> None:
        self.reader, self._remember = reader_for(reader, model), remember
        self._original = interface(model) if converted else None
        self._range: tuple[int, int] | None = None
        self._inputs = {
            value.name: value
            for value in model.graph.input
            if value.name not in {t.name for t in model.graph.initializer}
        }
        self.overridable = {value.name for value in model.graph.input} - self._inputs.keys()
        self.constants: set[str] = set()  # inputs with a default that preparation made constant: no session takes them
        self.left_out: set[str] = set()  # of those, the ones that the reader feeds
        self.adapters: list[Callable[[Feed], Feed]] = []
        self.remembered: list[Feed] = []
        self._first: dict[str, tuple[np.dtype[Any], int]] = {}

    def __len__(self) -> int:
        """Number of samples, 0 where the reader does not know it."""
        return length_of(self.reader) or 0

    def rewind(self) -> bool:
        """Start again; False where the reader can be read only once."""
        if not makes_readers(self.reader) and hasattr(self.reader, "rewind"):
            try:
                with callers_code("rewind() of the calibration data reader"):
                    self.reader.rewind()
            except NotImplementedError:
                return False
            return True
        return makes_readers(self.reader) or not (hasattr(self.reader, "get_next") or isinstance(self.reader, Iterator))

    def again(self) -> Iterable[Feed]:
        """All samples once more; of a reader that can be read only once those remembered, as the original model takes
        them."""
        return self if self.rewind() else self.remembered

    def set_range(self, start_index: int, end_index: int) -> None:
        """Give only these samples, of a reader that ``is_ranged``."""
        self._range, self._remember = (start_index, end_index), 0

    @property
    def is_read_once(self) -> bool:
        """Whether the reader gives its samples a single time."""
        # Data objects have a rewind() that says no where what they wrap is read once.
        reader = getattr(getattr(self.reader, "items", None), "source", self.reader)
        if makes_readers(reader) or hasattr(reader, "rewind"):
            return False
        return hasattr(reader, "get_next") or isinstance(reader, Iterator)

    def remember(self, count: int) -> None:
        """Keep the first ``count`` samples as they are read."""
        self._remember = count

    def some(self, count: int) -> list[Feed]:
        """The first samples, as the original model takes them; read now if nothing has read them yet."""
        if not self.remembered:
            for _ in zip(range(self._remember), self, strict=False):
                pass
        return self.remembered[:count]

    def __iter__(self) -> Iterator[Feed]:
        for number, feed in enumerate(self._raw()):
            if self._original is not None:
                feed = adapt_feed(self._original, feed)
            self._check(feed, number)
            self.left_out |= self.constants & feed.keys()
            feed = {name: value for name, value in feed.items() if name not in self.constants}
            if number == len(self.remembered) < self._remember:
                self.remembered.append(copied(feed))
            for adapter in self.adapters:
                feed = adapter(feed)
            yield feed

    def _raw(self) -> Iterator[Feed]:
        with callers_code("the function that makes calibration data readers"):
            reader = self.reader() if makes_readers(self.reader) else self.reader
        if self._range is not None:
            reader = between(reader, *self._range)
        reads_on = hasattr(reader, "get_next")
        if not (reads_on or isinstance(reader, Iterable) or is_data_set(reader)):
            raise CalibrationError(f"calibration_data_reader is {type(reader).__name__}; give {WAYS}")
        for feed in feeds_of(reader, 0 if self._range is None else self._range[0]):
            if not isinstance(feed, Mapping):
                raise CalibrationError(
                    f"the reader yields {type(feed).__name__}, not {{input name: array}}; "
                    "calibration_data(reader, inputs='NAME') names arrays"
                )
            if reads_on and not feed:
                return
            # Scalars of numpy are arrays to onnxruntime only as arrays.
            yield {name: np.asarray(value) if isinstance(value, np.generic) else value for name, value in feed.items()}

    def _check(self, feed: Feed, number: int) -> None:
        """Names, types and shapes are the model's in every sample; what it leaves open is as in the first one."""
        try:
            self._check_feed(feed)
        except CalibrationError as error:
            if number == 0:
                raise
            raise CalibrationError(f"sample {number}: {error}") from None

    def _check_feed(self, feed: Feed) -> None:
        expected = self._inputs
        unknown = [name for name in feed if name not in expected and name not in self.overridable]
        if unknown:
            raise CalibrationError(
                f"the reader feeds {unknown[0]!r}, but the model's inputs are {', '.join(expected)}"
                f"{suggest(str(unknown[0]), expected)}"
            )
        missing = [
            name for name, value in expected.items() if name not in feed and not value.type.HasField("optional_type")
        ]
        if missing:
            raise CalibrationError(
                f"the reader does not feed the input {missing[0]!r}; it feeds {', '.join(feed) or 'none'}"
            )
        for name, array in feed.items():
            if name in expected and not expected[name].type.HasField("tensor_type"):
                continue
            given = _array(name, array)
            if name in expected:
                _check_array(name, array, given, expected[name].type.tensor_type)
            first = self._first.setdefault(name, (given.dtype, given.ndim))
            if isinstance(array, np.ndarray) and first != (given.dtype, given.ndim):
                raise CalibrationError(
                    f"the reader feeds {name} as {_described(given.dtype, given.ndim)}, but the first sample was "
                    f"{_described(*first)}"
                )


def _described(dtype: np.dtype[Any], rank: int) -> str:
    return f"{dtype} ({dtype.str}) of {rank} axes"


def _array(name: str, array: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(array)
    except (ValueError, TypeError) as error:
        raise CalibrationError(
            f"the reader feeds {name} as {type(array).__name__}, which is no array: {error}"
        ) from error


def _check_array(name: str, array: Any, given: np.ndarray[Any, Any], declared: Any) -> None:
    if declared.elem_type not in (TensorProto.UNDEFINED, TensorProto.STRING):
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(declared.elem_type))
        if given.dtype != dtype and not (isinstance(array, (list, float, int)) and not isinstance(array, np.ndarray)):
            order = " in this machine's byte order" if given.dtype.newbyteorder() == dtype else ""
            raise CalibrationError(
                f"the reader feeds {name} as {given.dtype}, but the model takes {dtype}{order}; "
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
