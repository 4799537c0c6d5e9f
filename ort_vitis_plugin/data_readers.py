"""Readers: random samples for a quick try, one caller's samples adapted to a converted model, and their checks."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, load

from .errors import CalibrationError, OptionError, suggest

Feed = dict[str, NDArray[Any]]

_FLOATS: dict[int, np.dtype[Any]] = {TensorProto.FLOAT: np.dtype(np.float32), TensorProto.FLOAT16: np.dtype(np.float16)}
_SEED = 20240229

CHANNELS_LAST = "ort_vitis_plugin.channels_last"  # metadata of a model: its inputs that were converted, one a line
KEPT, TO_LAST, TO_FIRST = (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2)


class RandomDataReader:
    """One seeded sample (or ``samples``) of random values for every input of a model.

    Floats are uniform in [0, 1), integers 0 or 1, booleans both; ``input_data_range`` sets (low, high), inclusive for
    integers, for all inputs or by name. Symbolic dimensions: the first is 1, images of unknown size are 3x32x32, a
    matrix has 16 columns, others are 1; ``input_shape`` (one shape, a list in input order, {name: shape}) overrides.
    """

    def __init__(
        self,
        model: ModelProto | str | Path,
        input_shape: object = None,
        input_data_range: object = None,
        *,
        samples: int = 1,
        seed: int = _SEED,
    ) -> None:
        proto = model if isinstance(model, ModelProto) else load(str(model), load_external_data=False)
        constants = {tensor.name for tensor in proto.graph.initializer}
        self._inputs = [value for value in proto.graph.input if value.name not in constants]
        shapes = _shapes_by_name(input_shape, [value.name for value in self._inputs])
        ranges = _ranges_by_name(input_data_range, [value.name for value in self._inputs])
        self._plan = [
            (
                value.name,
                value.type.tensor_type.elem_type,
                _shape(value, shapes.get(value.name)),
                ranges.get(value.name),
            )
            for value in self._inputs
            if value.type.HasField("tensor_type")
        ]
        self._samples, self._seed = samples, seed
        self.rewind()

    def rewind(self) -> None:
        """Start again; the same samples come again."""
        self._left = self._samples
        self._random = np.random.default_rng(self._seed)

    def get_next(self) -> Feed | None:
        if not self._left:
            return None
        self._left -= 1
        return {name: self._draw(kind, shape, limits) for name, kind, shape, limits in self._plan}

    def __iter__(self) -> Iterator[Feed]:
        while (feed := self.get_next()) is not None:
            yield feed

    def __len__(self) -> int:
        return self._samples

    def _draw(self, kind: int, shape: tuple[int, ...], limits: tuple[float, float] | None) -> NDArray[Any]:
        if kind == TensorProto.STRING:
            return np.full(shape, "", dtype=object)
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
        if kind == TensorProto.BOOL:
            return self._random.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            low, high = limits or (0, 1)
            return self._random.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
        low, high = limits or (0.0, 1.0)
        return self._random.uniform(low, high, shape).astype(dtype)


def _shapes_by_name(given: object, names: list[str]) -> dict[str, tuple[int, ...]]:
    if given is None or (isinstance(given, (list, tuple, Mapping)) and not given):
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise OptionError(
                f"random_data_reader_input_shape names {unknown[0]!r}, but the inputs are "
                f"{', '.join(names)}{suggest(str(unknown[0]), names)}"
            )
        return {str(name): _dims(shape) for name, shape in given.items()}
    if isinstance(given, (list, tuple)):
        if all(isinstance(entry, (list, tuple)) for entry in given):
            if len(given) > len(names):
                raise OptionError(
                    f"random_data_reader_input_shape gives {len(given)} shapes for {len(names)} inputs: "
                    f"{', '.join(names)}"
                )
            return {name: _dims(shape) for name, shape in zip(names, given, strict=False)}
        return {names[0]: _dims(given)} if names else {}
    raise OptionError(f"random_data_reader_input_shape takes a shape, a list of shapes or a dict, not {given!r}")


def _dims(shape: object) -> tuple[int, ...]:
    valid = isinstance(shape, (list, tuple)) and all(isinstance(d, (int, np.integer)) and d > 0 for d in shape)
    if not isinstance(shape, (list, tuple)) or not valid:
        raise OptionError(
            f"a shape is a list of positive whole numbers, not {shape!r} (random_data_reader_input_shape)"
        )
    return tuple(int(dim) for dim in shape)


def _ranges_by_name(given: object, names: list[str]) -> dict[str, tuple[float, float]]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise OptionError(
                f"RandomDataReaderInputDataRange names {unknown[0]!r}, but the inputs are "
                f"{', '.join(names)}{suggest(str(unknown[0]), names)}"
            )
        return {str(name): _pair(pair) for name, pair in given.items()}
    return dict.fromkeys(names, _pair(given))


def _pair(pair: object) -> tuple[float, float]:
    if isinstance(pair, (list, tuple)) and len(pair) == 2 and pair[0] <= pair[1]:
        return float(pair[0]), float(pair[1])
    raise OptionError(f"RandomDataReaderInputDataRange takes (low, high), for all inputs or by name, not {pair!r}")


def _shape(value: Any, given: tuple[int, ...] | None) -> tuple[int, ...]:
    dims = value.type.tensor_type.shape.dim
    rank = len(dims)
    if given is not None:
        if value.type.tensor_type.HasField("shape") and len(given) != rank:
            raise OptionError(
                f"input {value.name} has rank {rank}, but random_data_reader_input_shape gives {list(given)}"
            )
        return given
    unknown = {0: 1}
    if rank == 2:
        unknown[1] = 16
    elif rank == 4:
        unknown.update({1: 3, 2: 32, 3: 32})
    return tuple(dim.dim_value if dim.dim_value > 0 else unknown.get(axis, 1) for axis, dim in enumerate(dims))


def channels_last(model: ModelProto) -> set[str]:
    """Inputs that were converted to channels last, as the conversion wrote into the model."""
    return {name for entry in model.metadata_props if entry.key == CHANNELS_LAST for name in entry.value.split("\n")}


def adapt_feed(model: ModelProto, feed: Feed) -> Feed:
    """A sample as ``model`` takes it: float32 for float16 and back, channels first for channels last and back.

    Where a shape fits either way (3x3x3), it is channels first, as the model was before its conversion.
    """
    adapted = dict(feed)
    converted = channels_last(model)
    for value in model.graph.input:
        array = adapted.get(value.name)
        if not isinstance(array, np.ndarray) or not value.type.HasField("tensor_type"):
            continue
        wanted: np.dtype[Any] | None = _FLOATS.get(value.type.tensor_type.elem_type)
        if wanted is not None and array.dtype in _FLOATS.values() and array.dtype != wanted:
            array = array.astype(wanted)
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if array.ndim == 4 == len(dims):
            orders = [KEPT, TO_LAST, TO_FIRST] if value.name not in converted else [TO_LAST, KEPT]
            order = next((order for order in orders if _fits([array.shape[axis] for axis in order], dims)), KEPT)
            array = array if order == KEPT else np.ascontiguousarray(np.transpose(array, order))
        adapted[value.name] = array
    return adapted


def _fits(sizes: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether all but the batch are as declared; 0 and below are unknown."""
    return all(dim in (size, 0) or dim < 0 for size, dim in zip(sizes[1:], dims[1:], strict=True))


def adapter_to(model: ModelProto) -> Callable[[Feed], Feed]:
    """``adapt_feed`` to that model, of which only the inputs are kept: workers get it with every part."""
    return partial(adapt_feed, _interface(model))


def _interface(model: ModelProto) -> ModelProto:
    bare = ModelProto()
    bare.metadata_props.extend(model.metadata_props)
    bare.graph.input.extend(model.graph.input)
    return bare


def is_ranged(reader: Any) -> bool:
    """Whether a reader can be read from any sample on: by an index, or by set_range (ORT's class only names it)."""
    if isinstance(reader, Samples):
        return is_ranged(reader.reader)
    if isinstance(reader, (list, tuple, type)):
        return False  # all of it would go along with every part
    ranged = getattr(type(reader), "set_range", None)
    if not hasattr(reader, "__getitem__") and (ranged is None or ranged.__module__.startswith("onnxruntime.")):
        return False
    try:
        return len(reader) >= 0
    except (NotImplementedError, TypeError):
        return False


class Samples:
    """A caller's reader as an iterable of checked feeds: an iterable, an object with get_next, or a list of dicts.

    It may also be a data set with a length and an index, or a function (or class) without arguments that makes one of
    these, anew for every pass.
    ``converted`` says that the model's inputs will change (layout, float type): then samples for either are taken.
    """

    def __init__(self, reader: Any, model: ModelProto, *, remember: int = 0, converted: bool = False) -> None:
        self.reader, self._remember = reader, remember
        self._original = _interface(model) if converted else None
        self._range: tuple[int, int] | None = None
        self._inputs = {
            value.name: value
            for value in model.graph.input
            if value.name not in {t.name for t in model.graph.initializer}
        }
        self._overridable = {value.name for value in model.graph.input} - self._inputs.keys()
        self.adapters: list[Callable[[Feed], Feed]] = []
        self.remembered: list[Feed] = []

    def __len__(self) -> int:
        """Number of samples, 0 where the reader does not know it."""
        try:
            return len(self.reader)
        except (TypeError, AttributeError, NotImplementedError):
            return 0

    def rewind(self) -> bool:
        """Start again; False where the reader can be read only once."""
        if not _makes_readers(self.reader) and hasattr(self.reader, "rewind"):
            try:
                self.reader.rewind()
            except NotImplementedError:
                return False
            return True
        return _makes_readers(self.reader) or not (
            hasattr(self.reader, "get_next") or isinstance(self.reader, Iterator)
        )

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
        for number, feed in enumerate(self._raw()):
            if self._original is not None:
                feed = adapt_feed(self._original, feed)
            if number == 0:
                self._check(feed)
            if number < self._remember:
                self.remembered.append(feed)
            for adapter in self.adapters:
                feed = adapter(feed)
            yield feed

    def _raw(self) -> Iterator[Feed]:
        reader = self.reader() if _makes_readers(self.reader) else self.reader
        if self._range is not None:
            reader = between(reader, *self._range)
        get_next = getattr(reader, "get_next", None)
        if get_next is None:
            if not isinstance(reader, Iterable):
                if not _is_data_set(reader):
                    kind = type(reader).__name__
                    raise CalibrationError(f"calibration_data_reader is {kind}; it needs get_next() or to be iterable")
                reader = between(reader, 0, len(reader))
            yield from (dict(feed) for feed in reader)
            return
        while True:
            feed = get_next()
            if feed is None or (isinstance(feed, Mapping) and not feed):
                return
            if not isinstance(feed, Mapping):
                raise CalibrationError(f"the reader yields {type(feed).__name__}, not {{input name: array}}")
            yield dict(feed)

    def _check(self, feed: Feed) -> None:
        expected = self._inputs
        unknown = [name for name in feed if name not in expected and name not in self._overridable]
        if unknown:
            raise CalibrationError(
                f"the reader feeds {unknown[0]!r}, but the model's inputs are {', '.join(expected)}"
                f"{suggest(unknown[0], expected)}"
            )
        missing = [
            name for name, value in expected.items() if name not in feed and not value.type.HasField("optional_type")
        ]
        if missing:
            raise CalibrationError(f"the reader does not feed the input {missing[0]!r}; it feeds {', '.join(feed)}")
        for name, array in feed.items():
            if name in expected and expected[name].type.HasField("tensor_type"):
                _check_array(name, array, expected[name].type.tensor_type)


def between(reader: Any, start: int, stop: int) -> Any:
    """Some samples of a reader that ``is_ranged``, which stays as it is."""
    if hasattr(reader, "__getitem__"):
        return (reader[at] for at in range(start, stop))
    reader = copy.copy(reader)
    reader.set_range(start, stop)
    return reader


def _is_data_set(reader: Any) -> bool:
    return hasattr(reader, "__getitem__") and hasattr(reader, "__len__") and not isinstance(reader, Mapping)


def _makes_readers(reader: Any) -> bool:
    is_reader = hasattr(reader, "get_next") or isinstance(reader, Iterable) or _is_data_set(reader)
    return isinstance(reader, type) or (callable(reader) and not is_reader)


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
