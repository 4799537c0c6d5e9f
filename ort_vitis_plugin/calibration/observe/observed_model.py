"""A model is observed through observers in its graph, or by fetching the observed tensors in place of its outputs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, ValueInfoProto, helper
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from ...custom_ops.library import register
from ...errors import CalibrationError, UnknownNameError, suggest
from ...graph import subgraphs
from ...onnx_io import external_weights
from ...onnx_io.sessions import WARNING, session_options
from .channel_energy import Energy, EnergyWriter
from .observation import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ...sketch import Sketch
    from ..channel_squares import Channels
    from .observation import Configure

# A session made from bytes can be told where external data lies.
PACKED = 1 << 28  # bytes of weights
_FINDS_EXTERNAL_DATA = tuple(int(part) for part in ort.__version__.split(".")[:2]) >= (1, 21)


class Probe:
    """What of a model is fetched, what is read from the feed, and the graph that gives it."""

    def __init__(self, model: ModelProto | str | Path, tensors: list[str], channels: Sequence[Channels] = ()) -> None:
        self.channels = list(channels)
        self.energies: list[Energy] = []
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

    @property
    def energy_outputs(self) -> list[str]:
        """What tells sums over channels."""
        return [name for each in self.energies for name in each.outputs]

    def _constant(self, tensor: TensorProto) -> NDArray[Any]:
        if uses_external_data(tensor) and self.folder:
            loaded = TensorProto()
            loaded.CopyFrom(tensor)
            load_external_data_for_tensor(loaded, str(self.folder))
            tensor = loaded
        return external_weights.array_of(tensor)

    @external_weights.external_weights_scope()
    def fetching_session(self, providers: list[Any], configure: Configure | None) -> ort.InferenceSession:
        """A session whose outputs are the observed tensors, and nothing else."""
        options, model = self._prepare(configure)
        declared = {value.name: value for value in self.model.graph.output}
        writer = EnergyWriter(model)
        if self.fetched:
            del model.graph.output[:]
            model.graph.output.extend(declared.get(name, ValueInfoProto(name=name)) for name in self.fetched)
        self.energies = [writer.add(channels) for channels in self.channels]
        return external_weights.lend_to_session(model, options, providers)

    @external_weights.external_weights_scope()
    def observing_session(self, sketches: Mapping[str, Sketch], configure: Configure | None) -> ort.InferenceSession:
        """A session with one observer per tensor, whose empty outputs are the only ones.

        Raises:
            CalibrationError: the custom-op library is not there any more.
        """
        options, model = self._prepare(configure)
        register(options)
        domain = "com.vai.quantize"
        if not any(each.domain == domain for each in model.opset_import):
            model.opset_import.append(helper.make_opsetid(domain, 1))
        depth = {name: at for at, node in enumerate(model.graph.node) for name in node.output}
        taken = {*depth, *(value.name for value in model.graph.input)}
        writer, energies = EnergyWriter(model), {}
        del model.graph.output[:]
        # ORT walks leaves from the last node on: deepest first, each runs right after the tensor that it reads is made.
        leaves: list[str | Channels] = [*self.fetched, *self.channels]
        for at, leaf in enumerate(sorted(leaves, key=lambda each: -depth.get(_tensor(each), -1))):
            if not isinstance(leaf, str):
                energies[leaf] = writer.add(leaf)
                continue
            counter = sketches[leaf].counter()
            if counter is None:
                raise CalibrationError("the custom-op library went away")
            output = f"observed_{at}"
            while output in taken:
                output += "_"
            node = helper.make_node(
                "CalibrationObserver", [leaf], [output], f"observe {leaf}", domain=domain, sketch=counter.number
            )
            model.graph.node.append(node)
            model.graph.output.append(helper.make_tensor_value_info(output, TensorProto.UINT8, None))
            self.observers.append(output)
        self.energies = [energies[channels] for channels in self.channels]
        return external_weights.lend_to_session(model, options)

    def check_types(self, session: ort.InferenceSession) -> None:
        """Only floating-point tensors can be observed.

        Raises:
            CalibrationError: a tensor to observe holds no floats.
        """
        for value in (*session.get_inputs(), *session.get_outputs()):
            if value.name in self.observed and value.type not in FLOATS:
                raise CalibrationError(
                    f"tensor {value.name} is {value.type}; only floating-point tensors can be observed"
                )

    def _prepare(self, configure: Configure | None) -> tuple[ort.SessionOptions, ModelProto]:
        """Basic optimisation: layout changes around every observed tensor would cost more than they save. Where
        weights fill much of the memory they are not packed for speed: that would be a third copy of them."""
        options = session_options(severity=WARNING)
        if self.folder:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self.folder))
        if configure:
            configure(options)
        model = external_weights.externalize(self.model)
        if external_weights.size(model) > PACKED:
            options.add_session_config_entry("session.disable_prepacking", "1")
        return options, model


def _tensor(leaf: str | Channels) -> str:
    """The tensor that an observer, or a sum over channels, reads."""
    return leaf if isinstance(leaf, str) else leaf.tensor


def _inner_names(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    for node in nodes:
        for body in subgraphs(node):
            for inner in body.node:
                yield from inner.output
            yield from _inner_names(body.node)
