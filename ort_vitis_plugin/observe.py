"""Activations are counted sample by sample and none is kept, so memory does not grow with samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, ValueInfoProto, helper
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from . import weights
from .custom_ops.library import register
from .errors import CalibrationError, UnknownNameError, suggest
from .graph import subgraphs
from .sketch import Sketch, squared_error_direct
from .sketch import engine as sketch_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .sketch.view import Floats

    Feed = Mapping[str, NDArray[Any]]
    Configure = Callable[[ort.SessionOptions], None]

_FLOATS = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(float16)": np.dtype(np.float16),
    "tensor(bfloat16)": np.dtype(ml_dtypes.bfloat16),
    "tensor(double)": np.dtype(np.float64),
}
# A session made from bytes can be told where external data lies.
_FINDS_EXTERNAL_DATA = tuple(int(part) for part in ort.__version__.split(".")[:2]) >= (1, 21)
_BFLOAT16 = TensorProto.BFLOAT16


@dataclass(frozen=True)
class NonFinite:
    """One tensor in one sample, and how many NaN and Inf it held."""

    tensor: str
    sample: int
    nans: int
    infinities: int


@dataclass(frozen=True)
class Sample:
    """What one sample brought: its number, its non-finite values and, if asked for, sketches of this sample alone."""

    index: int
    non_finite: tuple[NonFinite, ...]
    sketches: Mapping[str, Sketch]


class Observation(dict[str, Sketch]):
    """Tensor name -> sketch over all samples, with the number of samples and what was not finite in them."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__((name, Sketch()) for name in names)
        self.samples = 0
        self.non_finite: list[NonFinite] = []


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
    ) -> None:
        self._plan = _Plan(model, list(dict.fromkeys(tensors)))
        self._now = Observation(self._plan.observed)
        self._session = _session(self._plan, self._now, list(providers), configure)

    def constants(self) -> dict[str, Sketch]:
        """Sketches of the initializers among the tensors."""
        sketches = {name: Sketch() for name in self._plan.constants}
        for name, constant in self._plan.constants.items():
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
        now, total = self._now, Observation(self._plan.observed)
        for sketch in now.values():
            sketch.cut()  # what a run that failed has left
        for index, feed in enumerate(_numbered(feeds, first), first):
            before = {name: sketch.non_finite for name, sketch in now.items()}
            _run(self._session, self._plan, feed, index, now)
            non_finite = tuple(_non_finite(before, now, index))
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


@dataclass(frozen=True)
class Candidates:
    """Positions of one tensor to compare, for integers of that range."""

    positions: Sequence[int]
    qmin: int
    qmax: int
    zero_point: int = 0


def direct_errors(
    model: ModelProto | str | Path,
    candidates: Mapping[str, Candidates],
    feeds: Iterable[Feed],
    *,
    providers: Sequence[Any] = ("CPUExecutionProvider",),
    configure: Configure | None = None,
) -> dict[str, Floats]:
    """Squared errors of candidate positions from the values themselves, in a second pass over the same feeds.

    For integers beyond 8 bits, where a sketch is exact only in part: see ``Sketch.contenders``.
    """
    plan = _Plan(model, list(candidates))
    session = plan.fetching_session(list(providers), configure)
    plan.check_types(session)
    errors = {name: np.zeros(len(each.positions)) for name, each in candidates.items()}

    def add(name: str, values: NDArray[Any]) -> None:
        each = candidates[name]
        errors[name] += squared_error_direct(values, each.positions, each.qmin, each.qmax, each.zero_point)

    for name, constant in plan.constants.items():
        add(name, constant)
    for index, feed in enumerate(_numbered(feeds, 0)):
        for name, values in _values(session, plan, feed, index):
            add(name, values)
    return errors


def _non_finite(before: dict[str, tuple[int, int]], sketches: Mapping[str, Sketch], index: int) -> Iterator[NonFinite]:
    for name, (nans, infinities) in before.items():
        now = sketches[name].non_finite
        if now != (nans, infinities):
            yield NonFinite(name, index, now[0] - nans, now[1] - infinities)


def _numbered(feeds: Iterable[Feed], index: int) -> Iterator[Feed]:
    """The feeds; what their source raises names the sample."""
    source = iter(feeds)
    while True:
        try:
            feed = next(source)
        except StopIteration:
            return
        except Exception as error:
            raise CalibrationError(f"the calibration data reader failed at sample {index}: {error}") from error
        yield feed
        index += 1


def _session(
    plan: _Plan,
    sketches: Mapping[str, Sketch],
    providers: list[Any],
    configure: Configure | None,
) -> ort.InferenceSession:
    """A session with observers where they can run, else one whose outputs are the observed tensors."""
    if plan.fetched and providers in (["CPUExecutionProvider"], []) and sketch_engine.library():
        try:
            return plan.observing_session(sketches, configure)
        except ort_errors.InvalidGraph as error:
            session = plan.fetching_session(providers, configure)
            plan.check_types(session)
            raise CalibrationError(f"the model cannot be observed: {error}") from error
    session = plan.fetching_session(providers, configure)
    plan.check_types(session)
    return session


def _run(session: ort.InferenceSession, plan: _Plan, feed: Feed, index: int, sketches: Mapping[str, Sketch]) -> None:
    """Count the observed tensors of one sample."""
    if not plan.observers:
        for name, values in _values(session, plan, feed, index):
            sketches[name].add(values)
        return
    for name in plan.fed:
        if name in feed:
            sketches[name].add(feed[name])
    for name in plan.fetched:
        sketches[name].counter()
    _outputs(session, plan.observers[:1], feed, index)


def _values(session: ort.InferenceSession, plan: _Plan, feed: Feed, index: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """The observed tensors of one sample; each fetched one is freed before the next."""
    for name in plan.fed:
        if name in feed:
            yield name, np.asarray(feed[name])
    values = _outputs(session, plan.fetched or [session.get_outputs()[0].name], feed, index)
    values.reverse()
    for name in plan.fetched:
        value = values.pop()
        yield name, _to_numpy(value)


def _outputs(session: ort.InferenceSession, names: list[str], feed: Feed, index: int) -> list[Any]:
    plain = all(isinstance(value, np.ndarray) and value.dtype.kind not in "OSU" for value in feed.values())
    try:
        if plain:
            feeds = {name: _to_ort(value) for name, value in feed.items()}
            return list(session.run_with_ort_values(names, feeds))
        return list(session.run(names, dict(feed)))  # strings and sequences
    except Exception as error:
        raise CalibrationError(f"the model cannot be run on calibration sample {index}: {error}") from error


def _to_ort(array: NDArray[Any]) -> ort.OrtValue:
    if array.dtype == ml_dtypes.bfloat16:
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), _BFLOAT16)
    return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


def _to_numpy(value: ort.OrtValue | NDArray[Any]) -> NDArray[Any]:
    """The values where ORT has them, without a copy; valid as long as ``value``."""
    if isinstance(value, np.ndarray):
        return value
    if value.device_name().lower() != "cpu":
        return np.asarray(value.numpy())
    shape, dtype = value.shape(), _FLOATS[value.data_type()]
    if 0 in shape:
        return np.zeros(shape, dtype)
    buffer = (ctypes.c_char * (int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)).from_address(value.data_ptr())
    return np.frombuffer(buffer, dtype).reshape(shape)


class _Plan:
    """What of a model is fetched, what is read from the feed, and the graph that gives it."""

    def __init__(self, model: ModelProto | str | Path, tensors: list[str]) -> None:
        self.folder: Path | None = None
        if not isinstance(model, ModelProto):
            path = Path(model).resolve()
            if _FINDS_EXTERNAL_DATA:
                self.folder = path.parent
            model = onnx.load(str(path), load_external_data=not _FINDS_EXTERNAL_DATA)
        self.model = model
        graph = model.graph
        initializers = {tensor.name: tensor for tensor in graph.initializer}
        inputs = {value.name for value in graph.input} - set(initializers)
        outputs = {name for node in graph.node for name in node.output if name}
        known = {*initializers, *inputs, *outputs}
        hidden = set(_inner_names(graph.node)) - known
        for name in tensors:
            if name not in known and name not in hidden:
                raise UnknownNameError(f"the model has no tensor {name}{suggest(name, known)}")
        self.fed = [name for name in tensors if name in inputs]
        self.fetched = [name for name in tensors if name in outputs]
        self.observed = [name for name in tensors if name in inputs or name in outputs]
        self.constants = {name: self._constant(initializers[name]) for name in tensors if name in initializers}
        self.observers: list[str] = []

    def _constant(self, tensor: TensorProto) -> NDArray[Any]:
        if uses_external_data(tensor) and self.folder:
            loaded = TensorProto()
            loaded.CopyFrom(tensor)
            load_external_data_for_tensor(loaded, str(self.folder))
            tensor = loaded
        return weights.array_of(tensor)

    @weights.shelf()
    def fetching_session(self, providers: list[Any], configure: Configure | None) -> ort.InferenceSession:
        """A session whose outputs are the observed tensors, and nothing else."""
        options, model = self._prepare(configure)
        declared = {value.name: value for value in self.model.graph.output}
        if self.fetched:
            del model.graph.output[:]
            model.graph.output.extend(declared.get(name, ValueInfoProto(name=name)) for name in self.fetched)
        return weights.open_session(model, options, providers)

    @weights.shelf()
    def observing_session(self, sketches: Mapping[str, Sketch], configure: Configure | None) -> ort.InferenceSession:
        """A session with one observer per tensor, whose empty outputs are the only ones."""
        options, model = self._prepare(configure)
        register(options)
        domain = "com.vai.quantize"
        if not any(each.domain == domain for each in model.opset_import):
            model.opset_import.append(helper.make_opsetid(domain, 1))
        depth = {name: at for at, node in enumerate(model.graph.node) for name in node.output}
        taken = {*depth, *(value.name for value in model.graph.input)}
        del model.graph.output[:]
        # ORT walks leaves from the last node on: deepest first, each observer runs right after its tensor is made.
        for at, name in enumerate(sorted(self.fetched, key=lambda each: -depth[each])):
            counter = sketches[name].counter()
            if counter is None:
                raise CalibrationError("the custom-op library went away")
            output = f"observed_{at}"
            while output in taken:
                output += "_"
            node = helper.make_node(
                "CalibrationObserver", [name], [output], f"observe {name}", domain=domain, sketch=counter.number
            )
            model.graph.node.append(node)
            model.graph.output.append(helper.make_tensor_value_info(output, TensorProto.UINT8, None))
            self.observers.append(output)
        return weights.open_session(model, options)

    def check_types(self, session: ort.InferenceSession) -> None:
        """Only floating-point tensors can be observed."""
        for value in (*session.get_inputs(), *session.get_outputs()):
            if value.name in self.observed and value.type not in _FLOATS:
                raise CalibrationError(
                    f"tensor {value.name} is {value.type}; only floating-point tensors can be observed"
                )

    def _prepare(self, configure: Configure | None) -> tuple[ort.SessionOptions, ModelProto]:
        """Basic optimisation: layout changes around every observed tensor would cost more than they save."""
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        if self.folder:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self.folder))
        if configure:
            configure(options)
        return options, weights.set_aside(self.model)


def _inner_names(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    for node in nodes:
        for body in subgraphs(node):
            for inner in body.node:
                yield from inner.output
            yield from _inner_names(body.node)
