"""Seeded random samples calibrate for a quick try."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, load

from ..errors import LimitError, ModelError, OptionError, suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .convert_feed import Feed

_SEED = 20240229
LARGEST = 2**31  # bytes of a random sample


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
        size = sum(math.prod(shape) for _, _, shape, _ in self._plan) * 8  # bytes while they are drawn
        if size > LARGEST:
            raise LimitError(
                f"a random sample of this model would need {size / 2**30:.3g} GiB; give samples of your own, or other "
                "sizes: random_data_reader_input_shape"
            )
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
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
        except (KeyError, ValueError, TypeError) as error:
            raise ModelError(f"an input of the type {kind} takes no random samples; give some of your own") from error
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
        return {name: _dims(shape) for name, shape in _checked(given, names, "random_data_reader_input_shape")}
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


def _ranges_by_name(given: object, names: list[str]) -> dict[str, tuple[float, float]]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {name: _pair(pair) for name, pair in _checked(given, names, "RandomDataReaderInputDataRange")}
    return dict.fromkeys(names, _pair(given))


def _checked(given: Mapping[Any, object], names: list[str], option: str) -> Iterator[tuple[str, object]]:
    """The entries, once all are of inputs."""
    for name in given:
        if name not in names:
            raise OptionError(
                f"{option} names {name!r}, but the inputs are {', '.join(names)}{suggest(str(name), names)}"
            )
    return ((str(name), value) for name, value in given.items())


def _dims(shape: object) -> tuple[int, ...]:
    valid = isinstance(shape, (list, tuple)) and all(isinstance(d, (int, np.integer)) and d > 0 for d in shape)
    if not isinstance(shape, (list, tuple)) or not valid:
        raise OptionError(
            f"a shape is a list of positive whole numbers, not {shape!r} (random_data_reader_input_shape)"
        )
    return tuple(int(dim) for dim in shape)


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
