"""One function makes a calibration reader of whatever holds samples: files, arrays, loaders, data sets, pictures."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError, OptionError, OptionTypeError
from ..foreign import callers_code, public
from .convert_feed import copied
from .items import Numbered, items_of
from .model_inputs import inputs_of
from .pictures import Pictures
from .sample_parts import Labelled, Naming, is_feed, is_sample

if TYPE_CHECKING:
    from onnx import ModelProto

    from .convert_feed import Feed
    from .model_inputs import Input

Inputs = str | Sequence[str] | Mapping[str, str]


class RestWarning(UserWarning):
    """Samples at the end do not fill a batch of the model's fixed size and are left out."""


class CalibrationData:
    """A reader of samples in any form: ``get_next``, ``rewind`` and iteration give {input name: array}.

    Bound to a model it knows names, types and shapes; unbound it needs ``inputs`` where the source names nothing.
    """

    def __init__(
        self,
        source: Any,
        *,
        inputs: Inputs | None = None,
        transform: Callable[[Any], Any] | None = None,
        limit: int | None = None,
        seed: int = 0,
        batch: int | None = None,
    ) -> None:
        for name, value in (("limit", limit), ("batch", batch)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise OptionError(f"{name} is a whole number from 1 on, not {value!r}")
        if transform is not None and not callable(transform):
            raise OptionTypeError(f"transform is a function of one item, not {type(transform).__name__}")
        self.items = items_of(source)
        if isinstance(self.items, Pictures) and self.items is not source and transform is not None:
            self.items, transform = Pictures(source, preprocess=transform), None
        function = self.items.function if isinstance(self.items, Pictures) else None
        if function is not None and transform is not None:
            raise OptionError("the pictures have a preprocess function; leave out transform, or call it in there")
        self._transform = transform or function
        self._limit, self._seed, self._batch = limit, seed, batch
        self._naming = Naming.of(inputs)
        self._fixed: int | None = None
        self._rest: Iterator[Feed] | None = None

    def bound_to(self, model: ModelProto) -> CalibrationData:
        """The same samples as this model takes them; the caller's reader stays as it is.

        Raises:
            CalibrationError: the model does not take them.
        """
        bound = copy.copy(self)
        bound.items, bound._rest = copy.copy(self.items), None
        bound._naming = self._naming.with_inputs(inputs_of(model))
        taken = bound._naming.taken()
        batches = {each.batch for each in taken.values() if each.batch is not None}
        bound._fixed = next(iter(batches)) if len(batches) == 1 else None
        if None not in (self._batch, bound._fixed) and self._batch != bound._fixed:
            raise CalibrationError(f"batch={self._batch}, but the model takes batches of {bound._fixed}; leave it out")
        bound.items.prepare(taken)
        return bound

    @property
    def is_indexed(self) -> bool:
        """Whether every item is one sample that can be read by its number, apart from the others."""
        one_by_one = self._limit is None and self._batch_size() in (None, 1)
        return one_by_one and isinstance(self.items, Numbered) and not isinstance(self.items.source, Sequence)

    def feed(self, number: int) -> Feed:
        """The sample of that number, of data that ``is_indexed``."""
        ((number, item),) = self.items.take([number])
        return self._sample(number, item)[0]

    def __len__(self) -> int:
        count = self.items.count
        if count is None or (self._batch_size() or 1) != 1:
            raise TypeError("only reading tells how many samples there are")
        return count if self._limit is None else min(count, self._limit)

    def __iter__(self) -> Iterator[Feed]:
        return (feed for feed, _ in self.labelled())

    def get_next(self) -> Feed | None:
        """The next sample, None behind the last one."""
        if self._rest is None:
            self._rest = iter(self)
        return next(self._rest, None)

    def rewind(self) -> None:
        """Start again.

        Raises:
            NotImplementedError: the source can be read only once.
        """
        rewind = getattr(self.items, "rewind", None)
        if rewind is not None:
            rewind()
        self._rest = None

    def labelled(self) -> Iterator[Labelled]:
        """Samples with the classes of their rows, None where the source knows none."""
        size = self._batch_size()
        single = (self._sample(number, item) for number, item in self._picked())
        return single if size is None else _in_batches(single, size, fixed=self._batch is None)

    def _batch_size(self) -> int | None:
        """The size to which samples are cut and joined, None where they stay as they come."""
        return self._batch if self._batch is not None else self._fixed

    def _picked(self) -> Iterator[tuple[int, Any]]:
        count = self.items.count
        if count is None:
            return islice(self.items.take(None), self._limit)
        if self._limit is None or self._limit >= count:
            return self.items.take(None)
        picked = np.random.default_rng(self._seed).permutation(count)[: self._limit]
        return self.items.take([int(number) for number in np.sort(picked)])

    def _sample(self, number: int, item: Any) -> Labelled:
        where, items = self.items.where(number), self.items
        if self._transform is not None:
            item = self._transformed(item, where)
        feed, label = self._naming.feed(item, where, single=items.single, table=items.table, renames=items.renames)
        own = items.label(number)
        return feed, label if own is None else np.asarray([own])

    def _transformed(self, item: Any, where: str) -> Any:
        assert self._transform is not None
        if self.items.renames and isinstance(item, Mapping) and len(item) == 1:
            ((name, array),) = item.items()
            made = self._transformed(array, where)
            return made if isinstance(made, Mapping) else {name: made}
        if isinstance(item, np.ndarray):
            item = item.copy()  # a transform that works in place shall not change the caller's data
        elif isinstance(item, Mapping):
            item = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in item.items()}
        with callers_code(f"the transform of {where}"):
            made = self._transform(item)
        if not is_sample(made):
            raise CalibrationError(
                f"transform returns {type(made).__name__} for {where}; it must return an array or {{input: array}}"
            )
        return made


@public
def calibration_data(
    source: Any,
    *,
    inputs: Inputs | None = None,
    transform: Callable[[Any], Any] | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch: int | None = None,
) -> CalibrationData:
    """A calibration reader of samples in any form; what ``quantize_static`` and ``calibrate`` are given they pass here.

    Args:
        source: a path (.npy, .npz, a picture, or a folder of them and of folders), an array [N, ...] or a list of
            arrays (a model with one input), {input: array [N, ...]}, a list, generator or reader of {input: array}, a
            loader of x or (x, y) (tensors of torch too), a data set of dicts, or ``Pictures``.
        inputs: names of the model's inputs where the source has none or others: one, a list in the order of what a
            loader gives, or {input: name in the source}.
        transform: a function of one item as the source holds it (a row of an array without the batch axis, the array or
            arrays of a file, an upright PIL.Image in RGB, of ``Pictures`` what they make of it, what a loader gives, a
            row of a data set) that returns an array or {input: array}.
        limit: how many items of the source to take: where their number is known drawn with ``seed``, else the first.
        batch: rows of a sample. By default a fixed batch of the model, else one row of arrays, or as a loader gives.

    Nothing that is given is changed. A sample that lacks the batch axis gets one; integers that fit and floats of
    another width take the model's type.

    Raises:
        CalibrationError: it holds no samples, or the model does not take them.
        OptionError: an argument has a value that cannot be.
    """
    return CalibrationData(source, inputs=inputs, transform=transform, limit=limit, seed=seed, batch=batch)


class FeedSet:
    """A bound data set or folder by index: a worker reads its own part."""

    def __init__(self, data: CalibrationData) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, number: int) -> Feed:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._data.feed(number)


def reader_for(source: Any, model: ModelProto) -> Any:
    """What the caller gave as a reader of this model's samples; readers and lists of feeds stay what they are."""
    if not isinstance(source, CalibrationData):
        if hasattr(source, "get_next") or _holds_feeds(source, inputs_of(model)):
            return source
        source = CalibrationData(source)
    bound = source.bound_to(model)
    return FeedSet(bound) if bound.is_indexed else bound


def _holds_feeds(source: Any, inputs: Mapping[str, Input]) -> bool:
    """Whether a list holds {input: array} already, with nothing to convert or to leave out."""
    return isinstance(source, (list, tuple)) and (not source or is_feed(source[0], inputs))


def _in_batches(samples: Iterator[Labelled], size: int, *, fixed: bool) -> Iterator[Labelled]:
    """Samples cut and joined along their first axis; the rest that fills no batch is left out where it is fixed."""
    held: list[Labelled] = []
    rows = given = 0
    for feed, label in samples:
        counts = {len(array) if np.ndim(array) else -1 for array in feed.values()}
        if counts == {size} and not held:
            given += 1
            yield feed, label
            continue
        if len(counts) != 1 or -1 in counts:
            yield feed, label  # no common axis to cut: told when it is checked against the model
            continue
        held.append((copied(feed), label))
        rows += counts.pop()
        while rows >= size:
            joined, labels = _joined(held)
            yield {name: array[:size] for name, array in joined.items()}, None if labels is None else labels[:size]
            given += 1
            rows -= size
            rest = {name: array[size:] for name, array in joined.items()}
            held = [(rest, None if labels is None else labels[size:])] if rows else []
    if not rows:
        return
    if not fixed:
        yield _joined(held)
    elif not given:
        raise CalibrationError(f"the {rows} samples fill no batch of {size}, which the model takes; give more")
    else:
        warnings.warn(
            f"the last {rows} samples fill no batch of {size}, which the model takes, and are left out",
            RestWarning,
            stacklevel=2,
        )


def _joined(held: list[Labelled]) -> Labelled:
    feeds, labels = [feed for feed, _ in held], [label for _, label in held if label is not None]
    joined: Feed = {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}
    return joined, np.concatenate(labels) if len(labels) == len(held) else None
