"""What a layer loses by its weights alone: fed by the float model, it computes in float with the stored weights."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, numpy_helper

from ..graph.subgraphs import subgraphs
from ..numerics.sqnr import decibels
from ..onnx_io.sessions import open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import onnxruntime as ort
    from numpy.typing import NDArray

    from ..data_readers import Feed
    from ..graph import Graph

_STORED = "weight_errors/"


def weight_errors(
    reference: ModelProto,
    codes: Graph,
    constants: Mapping[str, str],
    feeds: Iterable[Feed],
    libraries: Iterable[Callable[[ort.SessionOptions], object]],
) -> dict[str, float]:
    """{output of a node: decibels} of the float nodes that read constants which are quantized.

    ``constants`` maps those of the float model to where the quantized model has them dequantized.
    """
    libraries = list(libraries)
    stored = stored_values(codes, constants, libraries)
    model = ModelProto()
    model.CopyFrom(reference)
    pairs: dict[str, str] = {}
    for tensor, array in stored.items():
        model.graph.initializer.append(numpy_helper.from_array(array, _STORED + tensor))
    for node in list(model.graph.node):
        if not any(name in stored for name in node.input) or any(subgraphs(node)):
            continue
        copy = model.graph.node.add()
        copy.CopyFrom(node)
        copy.name = f"{_STORED}{node.name or node.output[0]}"
        copy.input[:] = [_STORED + name if name in stored else name for name in node.input]
        copy.output[:] = [_STORED + name if name else "" for name in node.output]
        pairs[node.output[0]] = _STORED + node.output[0]
    if not pairs:
        return {}
    known = {value.name for value in model.graph.output}
    for name in (name for pair in pairs.items() for name in pair if name not in known):
        model.graph.output.add().name = name
    session = open_session(model, libraries)
    names = [name for pair in pairs.items() for name in pair]
    sums = {tensor: [0.0, 0.0] for tensor in pairs}
    for feed in feeds:
        found = session.run(names, feed)
        for at, tensor in enumerate(pairs):
            f, q = (np.asarray(part, np.float64) for part in found[2 * at : 2 * at + 2])
            finite = np.isfinite(f)
            sums[tensor][0] += float(np.sum(f[finite] ** 2))
            sums[tensor][1] += float(np.sum((f[finite] - q[finite]) ** 2))
    return {tensor: decibels(signal, noise) for tensor, (signal, noise) in sums.items()}


def stored_values(
    codes: Graph, constants: Mapping[str, str], libraries: Iterable[Callable[[ort.SessionOptions], object]]
) -> dict[str, NDArray[Any]]:
    """The values for which the codes of ``constants`` stand, by the name in the float model."""
    if not constants:
        return {}
    model = ModelProto()
    model.CopyFrom(codes.to_model())
    kept: dict[str, Any] = {}
    waiting = list(constants.values())
    while waiting:
        node = codes.producer(waiting.pop())
        if node is not None and node.output[0] not in kept:
            kept[node.output[0]] = node
            waiting.extend(node.input)
    del model.graph.node[:], model.graph.input[:], model.graph.output[:], model.graph.value_info[:]
    model.graph.node.extend(node for node in codes.sorted() if node.output and node.output[0] in kept)
    for name in constants.values():
        model.graph.output.add().name = name
    found = open_session(model, libraries).run(list(constants.values()), {})
    return dict(zip(constants, found, strict=True))
