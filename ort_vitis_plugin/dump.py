"""What a quantized model computes, tensor by tensor, in files: to compare with the device."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from . import custom_ops
from .checking import open_session
from .data_readers import RandomDataReader, Samples
from .errors import CalibrationError, OutputError, UnsupportedError
from .graph import Graph, attribute
from .loading import load_model
from .numerics import position_of
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnx import NodeProto

DEQUANTIZERS = ("DequantizeLinear", "VitisDequantizeLinear", "ExtendedDequantizeLinear")


@dataclass(frozen=True)
class Quantized:
    """A quantized tensor: its name in the files, where its codes (or FixNeuron's floats) are, and its parameters."""

    name: str
    source: str
    scale: NDArray[Any]
    zero_point: NDArray[Any]
    bits: int | None = None  # of a FixNeuron, whose output is float

    def codes(self, values: NDArray[Any]) -> NDArray[Any]:
        """Integer codes; those of a FixNeuron are found back from its output, (q - z) s."""
        if self.bits is None:
            return values
        limit = 2 ** (self.bits - 1)
        codes = np.clip(np.rint(values.astype(np.float64) / self.scale) + self.zero_point, -limit, limit - 1)
        kind: type[Any] = np.int8 if self.bits <= 8 else np.int16 if self.bits <= 16 else np.int32
        return np.asarray(codes, dtype=kind)

    def describe(self) -> dict[str, object]:
        """pos for one power-of-two scale without zero point, else scale and zero point."""
        position = position_of(float(self.scale)) if self.scale.ndim == 0 else None
        if position is not None and not self.zero_point.any():
            return {"pos": position}
        return {"scale": self.scale.tolist(), "zero_point": np.asarray(self.zero_point, np.float64).tolist()}


def dump_model(
    model: str | Path | ModelProto,
    dump_data_reader: Any = None,
    random_data_reader_input_shape: Any = None,
    dump_float: bool = False,
    output_dir: str | Path = "./dump_results",
) -> None:
    """Run one batch and write every quantized tensor, weights included, to ``<tensor>.bin`` and ``<tensor>.txt``.

    ``.bin`` holds the codes as they lie in memory, ``.txt`` one value per line; with ``dump_float`` the float values
    of all node outputs follow as ``<tensor>_float.bin`` (float32) and ``.txt``. A '/' in a name becomes '_'.
    ``index.json`` lists tensor, file, dtype, shape and pos (or scale and zero point). The batch is the first of
    ``dump_data_reader``, or random values of ``random_data_reader_input_shape`` ({name: shape}).

    Raises UnsupportedError for a model without quantized tensors, unless ``dump_float`` asks for its floats.
    """
    proto = load_model(model)
    graph = Graph(proto, copy=False)
    quantized = list(_quantized(graph))
    if not quantized and not dump_float:
        raise UnsupportedError("the model holds no quantized tensor; give a quantized model, or set dump_float=True")
    floats = [name for node in graph for name in node.output if name] if dump_float else []
    folder = Path(output_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"output_dir {str(folder)!r} cannot be made: {error}") from error
    values = _run(graph, _batch(proto, dump_data_reader, random_data_reader_input_shape), quantized, floats)
    files = _Files(folder, {entry.name for entry in quantized})
    with Progress("tensors", len(quantized) + len(floats)) as progress:
        for entry in quantized:
            found = values.get(entry.source)
            stored = graph.array(entry.source) if found is None else found
            if stored is not None:
                files.write(entry.name, "", entry.codes(np.asarray(stored)), entry.describe())
            progress.advance()
        for name in floats:
            array = values.get(name)
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                files.write(name, "_float", array.astype(np.float32), {})
            progress.advance()
    files.finish()


class _Files:
    """The folder of one dump, and its index."""

    def __init__(self, folder: Path, names: set[str]) -> None:
        self._folder, self._names = folder, names
        self._index: list[dict[str, object]] = []
        self._taken: set[str] = set()

    def write(self, tensor: str, suffix: str, array: NDArray[Any], facts: dict[str, object]) -> None:
        stem = tensor.replace("/", "_") + suffix
        while stem in self._taken:
            stem += "_"
        self._taken.add(stem)
        flat = np.ascontiguousarray(array).reshape(-1)
        (self._folder / f"{stem}.bin").write_bytes(flat.tobytes())
        is_integer = array.dtype.kind in "iu"
        text = flat.astype(np.int64) if is_integer else flat.astype(np.float64)
        np.savetxt(self._folder / f"{stem}.txt", text, fmt="%d" if is_integer else "%.9g")
        self._index.append(
            {"tensor": tensor, "file": f"{stem}.bin", "dtype": str(array.dtype), "shape": list(array.shape), **facts}
        )

    def finish(self) -> None:
        (self._folder / "index.json").write_text(json.dumps(self._index, indent=1))


def _quantized(graph: Graph) -> Iterator[Quantized]:
    for node in graph:
        if node.op_type == "FixNeuron":
            yield _entry(graph, node, node.output[0], int(_text(attribute(node, "bit_width", 8))))
        elif node.op_type in DEQUANTIZERS:
            yield _entry(graph, node, node.input[0], None)


def _entry(graph: Graph, node: NodeProto, source: str, bits: int | None) -> Quantized:
    scale = graph.array(node.input[1])
    zero = graph.array(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros((), np.int64)
    if scale is None or zero is None:
        raise UnsupportedError(f"the scale or zero point of {node.name or node.output[0]} is not constant")
    return Quantized(node.output[0], source, scale, zero, bits)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _batch(model: ModelProto, reader: Any, shape: Any) -> dict[str, Any]:
    if reader is None:
        reader = RandomDataReader(model, shape)
    for feed in Samples(reader, model):
        return feed
    raise CalibrationError("the reader of dump_model yields no batch; rewind it, or give it data")


def _run(graph: Graph, feed: dict[str, Any], quantized: list[Quantized], floats: list[str]) -> dict[str, Any]:
    """The asked tensors of one run; types that numpy lacks come through a Cast to float32 and back."""
    wanted = dict.fromkeys([*(entry.source for entry in quantized), *floats])
    computed = [name for name in wanted if graph.producer(name) is not None]
    copy = ModelProto()
    copy.CopyFrom(graph.model)
    halves = [name for name in computed if graph.element_type(name) == TensorProto.BFLOAT16]
    for name in halves:
        copy.graph.node.append(helper.make_node("Cast", [name], [f"{name}_as_float32"], to=TensorProto.FLOAT))
    fetched = {f"{name}_as_float32" if name in halves else name: name for name in computed}
    have = {value.name for value in copy.graph.output}
    copy.graph.output.extend(ValueInfoProto(name=name) for name in fetched if name not in have)
    custom_ops.add_functions(copy)
    session = open_session(copy, [custom_ops.register])
    import ml_dtypes

    return {
        fetched[name]: value.astype(ml_dtypes.bfloat16) if fetched[name] in halves else value
        for name, value in zip(fetched, session.run(list(fetched), feed), strict=True)
    }
