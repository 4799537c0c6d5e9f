"""dump_model: what every quantized tensor holds for one sample, as codes to compare with a device, and as floats."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, ValueInfoProto, helper

from .. import custom_ops
from ..custom_ops.qdq_nodes import is_block_pair, is_dequantize, is_fix_neuron, is_quantize
from ..data_readers import RandomDataReader, adapt_feed, reader_for
from ..errors import CalibrationError, ModelError, OutputError, QuantizationError
from ..foreign import public
from ..graph import Graph, attribute, has_input
from ..numerics.positions import position_of
from ..numerics.quantize import along
from ..onnx_io.load import load_model
from ..onnx_io.sessions import extensions_library, missing_operator, open_session
from ..onnx_io.whole_file import whole_file, write_text
from ..plugin.op_functions import with_definitions
from ..report.progress import Progress

if TYPE_CHECKING:
    import onnxruntime as ort
    from onnx import ModelProto, NodeProto

    from ..data_readers import Feed

_FLOATS = ("tensor(float)", "tensor(float16)", "tensor(double)")
# What a file name cannot hold here: AMD's tools replace '/' alone, and users look for 'onnx::Conv_501...'.
UNFIT = r'[/\\:*?"<>|\0]' if os.name == "nt" else r"[/\0]"
_CAST = "_for_dump_model"  # numpy has no bfloat16, so its codes leave the session as float32, which is exact


@dataclass(frozen=True)
class _Codes:
    """A tensor to dump as codes: under which name, where the codes come from, and what they stand for."""

    name: str
    source: str
    node: NodeProto
    element_type: int

    @property
    def is_fix_neuron(self) -> bool:
        return self.node.op_type == "FixNeuron"

    @property
    def dtype(self) -> np.dtype[Any]:
        """FixNeuron: the smallest integer with bit_width bits; otherwise the zero point's type."""
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(self.element_type))
        if not self.is_fix_neuron:
            return dtype
        width = custom_ops.bit_width_of(self.node)
        return np.dtype(f"{'int' if dtype.kind == 'i' else 'uint'}{8 if width <= 8 else 16 if width <= 16 else 32}")


def _quantized(graph: Graph) -> list[_Codes]:
    """One-node pairs and dequantized tensors under the name of their float output; other codes under their own."""
    found = []
    for node in graph:
        kind = graph.element_type(node.input[2]) if has_input(node, 2) else 0
        if is_fix_neuron(node):
            found.append(_Codes(node.output[0], node.output[0], node, kind or TensorProto.INT8))
        elif is_block_pair(node):
            found.append(_Codes(node.output[0], node.output[0], node, TensorProto.FLOAT))
        elif is_dequantize(node):
            known = kind or graph.element_type(node.input[0]) or TensorProto.UINT8
            found.append(_Codes(node.output[0], node.input[0], node, known))
        elif is_quantize(node) and not any(is_dequantize(user) for user in graph.consumers(node.output[0])):
            known = kind or attribute(node, "output_dtype", 0) or TensorProto.UINT8
            found.append(_Codes(node.output[0], node.output[0], node, known))
    return found


def _session(graph: Graph, wanted: Iterable[str], halves: set[str]) -> ort.InferenceSession:
    """The model with ``wanted`` as further outputs, computed node by node as it is written."""
    import onnxruntime as ort

    model = graph.to_model()
    present = {output.name for output in model.graph.output}
    for name in wanted:
        if name in halves:
            model.graph.node.append(helper.make_node("Cast", [name], [name + _CAST], to=TensorProto.FLOAT))
            name += _CAST
        if name not in present:
            model.graph.output.append(ValueInfoProto(name=name))
            present.add(name)
    model = with_definitions(model)
    defined = {(function.domain, function.name) for function in model.functions}
    libraries: list[Callable[[Any], object]] = [custom_ops.register]
    if any(n.domain == custom_ops.CONTRIB_DOMAIN and (n.domain, n.op_type) not in defined for n in model.graph.node):
        path = extensions_library()
        libraries.append(lambda options: options.register_custom_ops_library(path))
    try:
        return open_session(model, libraries, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    except Exception as error:
        raise ModelError(f"onnxruntime cannot load the model to dump: {error}{missing_operator(error)}") from error


def _sample(model: ModelProto, reader: Any, shapes: object) -> Feed:
    """The first batch of the reader, or a random one."""
    reader = RandomDataReader(model, shapes or None) if reader is None else reader_for(reader, model)
    feed = reader.get_next() if hasattr(reader, "get_next") else next(iter(reader), None)
    if not feed:
        raise CalibrationError("dump_data_reader yields nothing; dump_model takes its first batch as the input")
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in feed and value.name not in constants:
            raise CalibrationError(f"the first batch of dump_data_reader lacks the input {value.name!r}")
    return adapt_feed(model, feed)


class _Folder:
    """The files of a dump, and their index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self._taken: set[str] = set()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"the folder {str(path)!r} cannot be made: {error}") from error

    def _stem(self, tensor: str) -> str:
        """The tensor's name with '_' for what a file name cannot hold; '_1' and so on where two become the same.

        Two names that differ in case alone are the same to some file systems.
        """
        stem = base = re.sub(UNFIT, "_", tensor)
        count = 0
        while stem.lower() in self._taken:
            count += 1
            stem = f"{base}_{count}"
        self._taken.add(stem.lower())
        return stem

    def write(self, tensor: str, suffix: str, values: NDArray[Any], **meaning: object) -> None:
        """Raw values in .bin, one value a line in .txt."""
        stem = self._stem(tensor + suffix)
        flat = np.ascontiguousarray(values).ravel()
        with whole_file(self.path / f"{stem}.bin") as file:
            file.write(flat.tobytes())
        write_text(self.path / f"{stem}.txt", "".join(f"{value}\n" for value in flat.tolist()))
        entry = {"tensor": tensor, "file": f"{stem}.bin", "text": f"{stem}.txt", "dtype": str(values.dtype)}
        self.entries.append(entry | {"shape": list(values.shape)} | meaning)

    def finish(self) -> None:
        text = json.dumps(self.entries, indent=1, ensure_ascii=False)
        write_text(self.path / "index.json", text + "\n")


def _meaning(codes: _Codes, scale: NDArray[Any], zero_point: NDArray[Any]) -> dict[str, object]:
    """What the codes stand for: pos where the scale is a power of two, scale and zero point, axis where per channel."""
    scales = [float(value) for value in scale.ravel()]
    zeros = zero_point.ravel().tolist()
    positions = [position_of(value) for value in scales]
    single = scale.size == 1
    meaning: dict[str, object] = {
        "op": codes.node.op_type,
        "scale": scales[0] if single else scales,
        "zero_point": zeros[0] if single else zeros,
    }
    if None not in positions:
        meaning["pos"] = positions[0] if single else positions
    if not single:
        meaning["axis"] = int(attribute(codes.node, "axis", 1))
    return meaning


def _block_meaning(node: NodeProto) -> dict[str, object]:
    """What the values of a block type stand for: the operator, and its attributes."""
    stated = {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
    return {"op": node.op_type} | {
        name: value.decode() if isinstance(value, bytes) else value for name, value in stated.items()
    }


def _fix_neuron_codes(codes: _Codes, values: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any]) -> NDArray[Any]:
    """y / scale + zero point: y is a whole number of steps, so rounding only removes the division's last bit."""
    axis = int(attribute(codes.node, "axis", 1))
    shape = () if scale.size == 1 else along(scale, values.ndim, axis).shape
    steps = np.rint(values.astype(np.float64) / scale.astype(np.float64).reshape(shape))
    return np.asarray((steps + zero.astype(np.float64).reshape(shape)).astype(codes.dtype))


@public
def dump_model(
    model: str | Path | ModelProto,
    dump_data_reader: Any = None,
    random_data_reader_input_shape: object = MappingProxyType({}),
    dump_float: bool = False,
    output_dir: str | Path = "./dump_results",
) -> None:
    """Write what the quantized tensors of a model hold, weights and activations, for one input.

    For each FixNeuron, and for each dequantized tensor of native and Vitis QDQ, ``<output>.bin`` and ``.txt`` in
    ``output_dir`` hold its codes, for each tensor of a block type its values, which have no codes of one type; with
    ``dump_float`` ``<output>_float.bin`` and ``.txt`` hold the floats of every node's outputs. '/' becomes '_';
    ``index.json`` lists tensor, file, dtype, shape, scale, zero point and position.

    Raises:
        ModelError: the model holds no quantized tensor.
    """
    loaded = with_definitions(load_model(model))
    graph = Graph(loaded, copy=False)
    quantized = _quantized(graph)
    if not quantized and not dump_float:
        raise ModelError("the model has no quantized tensor to dump; dump_float=True dumps the floats of every node")
    shapes = dict(random_data_reader_input_shape) if isinstance(random_data_reader_input_shape, Mapping) else None
    feed = _sample(loaded, dump_data_reader, random_data_reader_input_shape if shapes is None else shapes)

    halves = {codes.source for codes in quantized if codes.element_type == TensorProto.BFLOAT16}
    constants = {codes.source for codes in quantized if graph.array(codes.source) is not None}
    parameters = {name for codes in quantized for name in codes.node.input[1:3] if name and graph.array(name) is None}
    sources = {codes.source for codes in quantized} - constants
    outputs = [name for node in graph for name in node.output if name] if dump_float else []
    inputs = {value.name for value in loaded.graph.input}
    asked = dict.fromkeys([*sorted(sources | parameters), *outputs])
    session = _session(graph, (name for name in asked if name not in inputs), halves & sources)
    types = {output.name: output.type for output in session.get_outputs()}
    folder = _Folder(Path(output_dir))

    def fetch(names: list[str]) -> dict[str, NDArray[Any]]:
        runnable = [name for name in names if name not in inputs]
        try:
            results = session.run(runnable, feed) if runnable else []
        except QuantizationError:
            raise
        except Exception as error:
            raise CalibrationError(f"the model fails on the sample to dump: {error}") from error
        return dict(zip(runnable, results, strict=True)) | {name: feed[name] for name in names if name in inputs}

    def fetched(name: str) -> str:
        return name + _CAST if name in halves else name

    floats = [name for name in outputs if types.get(name) in _FLOATS]
    values = fetch(list(dict.fromkeys([*(fetched(name) for name in sorted(sources | parameters)), *floats])))

    def value(name: str) -> NDArray[Any]:
        constant = graph.array(name)
        return values[fetched(name)] if constant is None else constant

    with Progress("dumping", len(quantized) + len(floats)) as progress:
        for codes in quantized:
            if is_block_pair(codes.node):
                folder.write(codes.name, "", value(codes.source), **_block_meaning(codes.node))
                progress.advance()
                continue
            scale = value(codes.node.input[1])
            given = has_input(codes.node, 2)
            zero = value(codes.node.input[2]) if given else np.zeros(scale.shape, codes.dtype)
            array = value(codes.source)
            array = _fix_neuron_codes(codes, array, scale, zero) if codes.is_fix_neuron else array.astype(codes.dtype)
            folder.write(codes.name, "", array, **_meaning(codes, scale, zero))
            progress.advance()
        for name in floats:
            folder.write(name, "_float", values[name])
            progress.advance()
    folder.finish()
