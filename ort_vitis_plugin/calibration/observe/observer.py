"""A session that counts what it computes: every sample goes into the same sketches."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from ...errors import CalibrationError, ModelError
from ...onnx_io.sessions import REFUSALS, missing_operator
from ...sketch import Sketch
from ...sketch import engine as sketch_engine
from ..channel_squares import ChannelSquares
from .observation import NonFinite, Observation, Sample
from .observed_model import Probe
from .run_sample import copy_of, numbered, outputs_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import ModelProto

    from ..channel_squares import Channels
    from .observation import Configure, Feed


def observe(
    model: ModelProto | str | Path,
    tensors: Iterable[str],
    feeds: Iterable[Feed],
    *,
    providers: Sequence[Any] = ("CPUExecutionProvider",),
    configure: Configure | None = None,
    on_sample: Callable[[Sample], None] | None = None,
    apart: bool = False,
) -> Observation:
    """Sketches of the named tensors (graph inputs, node outputs, initializers) over all feeds.

    ``configure`` may change the session options (custom-op libraries, threads). ``on_sample`` is called after every
    sample and may raise to stop; with ``apart`` it gets sketches of that sample alone. Constants are counted once.
    Tensors inside the bodies of If, Loop and Scan cannot be seen from outside and are left out.
    """
    observer = Observer(model, tensors, providers=providers, configure=configure)
    total = observer.run(feeds, on_sample=on_sample, apart=apart)
    total.update(observer.constants())
    return total


class Observer:
    """A session that counts what it computes; it can be run again and again."""

    def __init__(
        self,
        model: ModelProto | str | Path,
        tensors: Iterable[str],
        *,
        providers: Sequence[Any] = ("CPUExecutionProvider",),
        configure: Configure | None = None,
        channels: Sequence[Channels] = (),
    ) -> None:
        self._probe = Probe(model, list(dict.fromkeys(tensors)), channels)
        self._now = Observation(self._probe.observed)
        self._session = _session(self._probe, self._now, list(providers), configure)

    def constants(self) -> dict[str, Sketch]:
        """Sketches of the initializers among the tensors."""
        sketches = {name: Sketch() for name in self._probe.constants}
        for name, constant in self._probe.constants.items():
            sketches[name].add(constant)
        return sketches

    def run(
        self,
        feeds: Iterable[Feed],
        *,
        first: int = 0,
        on_sample: Callable[[Sample], None] | None = None,
        apart: bool = False,
    ) -> Observation:
        """Sketches over these feeds, whose samples are numbered from ``first`` on; see ``observe``."""
        now, total = self._now, Observation(self._probe.observed)
        for sketch in now.values():
            sketch.cut()  # what a run that failed has left
        before: dict[str, tuple[int, int]] = dict.fromkeys(now, (0, 0))
        for index, feed in enumerate(numbered(feeds, first), first):
            _run(self._session, self._probe, feed, index, now, total.energies)
            after = {name: sketch.non_finite for name, sketch in now.items()}
            non_finite = tuple(_non_finite(before, after, index))
            before = dict.fromkeys(now, (0, 0)) if apart else after
            own: dict[str, Sketch] = {}
            if apart:
                own = {name: sketch.cut() for name, sketch in now.items()}
                for name, sketch in own.items():
                    total[name].merge(sketch)
            total.samples += 1
            total.non_finite += non_finite
            if on_sample:
                on_sample(Sample(index, non_finite, own))
        for name, sketch in now.items():
            total[name].merge(sketch.cut())
        return total


def _non_finite(
    before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]], index: int
) -> Iterator[NonFinite]:
    for name, (nans, infinities) in after.items():
        if before[name] != (nans, infinities):
            yield NonFinite(name, index, nans - before[name][0], infinities - before[name][1])


def _session(
    probe: Probe,
    sketches: Mapping[str, Sketch],
    providers: list[Any],
    configure: Configure | None,
) -> ort.InferenceSession:
    try:
        return _opened(probe, sketches, providers, configure)
    except REFUSALS as error:
        raise ModelError(f"onnxruntime cannot load the float model: {error}{missing_operator(error)}") from error


def _opened(
    probe: Probe,
    sketches: Mapping[str, Sketch],
    providers: list[Any],
    configure: Configure | None,
) -> ort.InferenceSession:
    """A session with observers where they can run, else one whose outputs are the observed tensors."""
    if probe.fetched and providers in (["CPUExecutionProvider"], []) and sketch_engine.library():
        try:
            return probe.observing_session(sketches, configure)
        except ort_errors.InvalidGraph as error:
            session = probe.fetching_session(providers, configure)
            probe.check_types(session)
            raise CalibrationError(f"the model cannot be observed: {error}") from error
    session = probe.fetching_session(providers, configure)
    probe.check_types(session)
    return session


def _run(
    session: ort.InferenceSession,
    probe: Probe,
    feed: Feed,
    index: int,
    sketches: Mapping[str, Sketch],
    energies: dict[Channels, ChannelSquares],
) -> None:
    """Count the observed tensors of one sample, and the squares of channels."""
    small: dict[str, NDArray[Any]] = {}
    if not probe.observers:
        for name, values in values_of(session, probe, feed, index):
            if name in sketches:
                sketches[name].add(values)
            else:
                small[name] = values.copy()
    else:
        for name in probe.fed:
            if name in feed:
                sketches[name].add(feed[name])
        for name in probe.fetched:
            sketches[name].counter()
        names = [*probe.observers[:1], *probe.energy_outputs]
        found = outputs_of(session, names, feed, index)
        small = {name: copy_of(value) for name, value in zip(names[1:], found[1:], strict=True)}
    for each in probe.energies:
        size = each.size if isinstance(each.size, int) else int(small[each.size])
        total = energies.setdefault(each.channels, ChannelSquares())
        total.add(small[each.sums], size // max(each.channels.size, 1))
