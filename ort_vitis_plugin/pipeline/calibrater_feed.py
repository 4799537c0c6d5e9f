"""A CalibraterBase calibrates what it can run: it gets the prepared model as a file, and sample by sample a reader."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ..errors import PluginError
from ..onnx_io import external_weights
from ..onnx_io.whole_file import scratch_folder
from ..plugin.methods import CalibraterMethod

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import ModelProto

    from ..data_readers import Feed
    from ..plugin.methods import Range
    from ..request.call import Call
    from ..sketch import Sketch


class OneSample:
    """A calibration data reader of one sample."""

    def __init__(self, feed: Feed) -> None:
        self._feed: Feed | None = feed

    def get_next(self) -> Feed | None:
        """The sample, then None."""
        feed, self._feed = self._feed, None
        return feed

    def __iter__(self) -> Iterator[Feed]:
        while (feed := self.get_next()) is not None:
            yield feed

    def __len__(self) -> int:
        return 1


class CalibraterFeed:
    """A third party's calibrater, running beside the host's observers on the same samples."""

    def __init__(self, call: Call, method: CalibraterMethod, calibrater: Any) -> None:
        self.name = type(calibrater).__name__
        self._call, self._method, self._calibrater = call, method, calibrater
        self._feed: Feed = {}

    def _faults(self, what: str) -> AbstractContextManager[None]:
        return self._call.catalog.faults_in(self._method, f"{what} of {self.name}")

    def passing(self, samples: Iterable[Feed]) -> Iterator[Feed]:
        """The samples, of which the last one is remembered; {input: array} as the prepared model takes them."""
        for self._feed in samples:
            yield self._feed

    def collect(self) -> None:
        """Let the calibrater run the sample that passed last."""
        with self._faults("collect_data"):
            self._calibrater.collect_data(OneSample(self._feed))

    def ranges(self, sketches: dict[str, Sketch]) -> dict[str, Range]:
        """(low, high) of every calibrated tensor for which the calibrater has some.

        Raises:
            PluginError: what it gives are no ranges.
        """
        found: dict[str, Range] = {}
        with self._faults("compute_data"):
            entries = dict(self._calibrater.compute_data().items())
        for name, entry in entries.items():
            if name in sketches:
                found[name] = self._limits(name, entry)
        missing = [name for name, sketch in sketches.items() if name not in found and sketch.count]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            self._call.note(
                f"{self.name} gave no range of {', '.join(missing[:5])}{more}: they keep the range of their values"
            )
        return found

    def _limits(self, name: str, entry: Any) -> Range:
        try:
            low, high = getattr(entry, "range_value", entry)
            limits = float(np.min(low)), float(np.max(high))
        except (TypeError, ValueError) as error:
            raise PluginError(f"{self.name} gives {entry!r} for {name}, not a range") from error
        if not -np.inf < limits[0] <= limits[1] < np.inf:
            raise PluginError(f"{self.name} gives the range [{limits[0]}, {limits[1]}] for {name}")
        return limits


@contextmanager
def calibrater_beside(call: Call, model: ModelProto) -> Iterator[CalibraterFeed | None]:
    """The calibrater of the call's method, ready for samples of the prepared model; None for methods of other kinds."""
    method = call.method
    if not isinstance(method, CalibraterMethod):
        yield None
        return
    with scratch_folder() as folder:
        path = folder / "model.onnx"
        whole = external_weights.internalized(model)
        onnx.save(whole, path, save_as_external_data=whole is not model, location="model.data")
        augmented = folder / "augmented.onnx"
        with call.catalog.faults_in(method, f"the calibrater of {method.key}"):
            arguments = {} if method.arguments is None else dict(method.arguments(call.settings))
            calibrater = method.calibrater(str(path), sorted(call.op_types), str(augmented), **arguments)
            calibrater.augment_graph()
            calibrater.execution_providers = list(call.call.execution_providers or ["CPUExecutionProvider"])
            calibrater.create_inference_session()
        yield CalibraterFeed(call, method, calibrater)
