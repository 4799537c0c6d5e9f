"""What a device computes otherwise than float counts node by node: how far each one alone takes the outputs off.

With e_i the outputs' error where node i alone is simulated, and to first order, a network that simulates the nodes S
errs by the sum of e_i over S; its square is the sum of e_i e_j over all pairs of S. Errors of one step have one sign
in most nodes, so that they add up, and a node counts for what it adds to the others, not for its own square alone.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from ..data_readers import adapt_feed
from ..graph import Graph
from ..onnx_io.sessions import open_session
from .answers import answer
from .output_parts import output_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ..data_readers import Feed

MOST_ENTRIES = 1 << 18  # of the outputs, evenly drawn, that errors are kept of
FLOOR = 1e-30
MOST_RUNS = 96


def simulated_nodes(prepared: ModelProto, simulated: ModelProto) -> list[str]:
    """Names of the nodes with one output that the simulated graph computes otherwise, in order."""
    after = Graph(simulated, copy=False)
    return [
        node.name
        for node in Graph(prepared, copy=False).sorted()
        if node.name and len(node.output) == 1 and _differs(node, after.producer(node.output[0]))
    ]


def switched(prepared: ModelProto, simulated: ModelProto, names: Sequence[str]) -> tuple[ModelProto, str]:
    """One model that computes either, and its further input: of its booleans, entry i says whether node i is simulated.

    Each such node becomes an If, so that a run costs no more than one of the two models.
    """
    graph, floats = Graph(simulated), Graph(prepared, copy=False)
    by_name = {node.name: node for node in floats}
    known = {tensor for node in floats for tensor in node.output} | set(floats.inputs)
    switches = graph.unique("switches")
    for at, name in enumerate(names):
        tensor = by_name[name].output[0]
        index = graph.add_initializer(f"{tensor}_switch_index", np.array(at))
        switch, on, off = (graph.unique(f"{tensor}_{what}") for what in ("switch", "simulated", "float"))
        chain = _inserted(graph, tensor, known)
        branches = [*(_copy(node, None) for node in chain[:-1]), _copy(chain[-1], on)], [_copy(by_name[name], off)]
        for node in chain:
            graph.remove(node)
        bodies = [
            helper.make_graph(nodes, output, [], [helper.make_empty_tensor_value_info(output)])
            for nodes, output in zip(branches, (on, off), strict=True)
        ]
        graph.add(helper.make_node("Gather", [switches, index], [switch], name=switch))
        graph.add(
            helper.make_node(
                "If", [switch], [tensor], name=f"{switch}_if", then_branch=bodies[0], else_branch=bodies[1]
            )
        )
    model = graph.to_model()
    model.graph.input.append(helper.make_tensor_value_info(switches, TensorProto.BOOL, [len(names)]))
    return model, switches


def _inserted(graph: Graph, tensor: str, known: set[str]) -> list[NodeProto]:
    """Who makes the tensor, behind the nodes before it that the prepared graph does not have and nobody else reads."""
    producer = graph.producer(tensor)
    assert producer is not None
    before: list[NodeProto] = []
    for name in dict.fromkeys(producer.input):
        if name and name not in known and graph.producer(name) is not None and graph.sole_consumer(name) is producer:
            before += _inserted(graph, name, known)
    return [*before, producer]


def restored_first(
    prepared: ModelProto,
    simulated: ModelProto,
    feeds: Sequence[Feed],
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
) -> list[str]:
    """The simulated nodes in the order in which leaving one more float takes most of the error.

    Of more than 96, neighbours are run and ordered together.

    Raises:
        ModelError: onnxruntime does not load the model.
    """
    names = simulated_nodes(prepared, simulated)
    if len(names) < 2 or not feeds:
        return names
    model, switches = switched(prepared, simulated, names)
    session = open_session(model, libraries)
    outputs = [value.name for value in session.get_outputs()]
    parts = output_parts(prepared)

    def run(on: NDArray[np.bool_]) -> list[list[Any]]:
        return [answer(session, outputs, {**adapt_feed(prepared, feed), switches: on}) for feed in feeds]

    reference = run(np.zeros(len(names), np.bool_))
    size = -(-len(names) // MOST_RUNS)
    groups = np.array_split(np.arange(len(names)), -(-len(names) // size))
    errors = [_error(reference, run(np.isin(np.arange(len(names)), group)), outputs, parts) for group in groups]
    return [names[at] for place in _order(np.stack(errors)) for at in groups[place]]


def _order(errors: NDArray[np.float64]) -> list[int]:
    """Rows of [node, entry] in the order in which taking one more away leaves least of the sum of the others."""
    products = errors @ errors.T
    left = np.ones(len(errors), np.bool_)
    order: list[int] = []
    while left.any():
        gains = 2 * products[:, left].sum(axis=1) - np.diag(products)
        best = int(np.argmax(np.where(left, gains, -np.inf)))
        order.append(best)
        left[best] = False
    return order


def _error(
    reference: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]], outputs: Sequence[str], parts: Any
) -> NDArray[np.float64]:
    """The difference of each part of each output of floats in units of that part's size, in one row."""
    rows = []
    for at, output in enumerate(outputs):
        for part in parts.get(output) or [None]:
            pairs = [
                (np.asarray(f[at]), np.asarray(q[at])) if part is None else (part.of(f[at]), part.of(q[at]))
                for f, q in zip(reference, found, strict=True)
            ]
            if any(f.dtype.kind != "f" or f.shape != q.shape for f, q in pairs):
                continue
            sides = zip(*pairs, strict=True)
            f, q = (np.concatenate([each.ravel().astype(np.float64) for each in side]) for side in sides)
            step = -(-f.size // MOST_ENTRIES) or 1
            size = float(np.sqrt(np.sum(f[np.isfinite(f)] ** 2))) or FLOOR
            rows.append(np.nan_to_num((q - f)[::step] / size, posinf=0.0, neginf=0.0))
    return np.concatenate(rows) if rows else np.zeros(1)


def _differs(node: NodeProto, other: NodeProto | None) -> bool:
    return other is not None and _copy(node, "") != _copy(other, "")


def _copy(node: NodeProto, output: str | None) -> NodeProto:
    """The node without its name; its only output is called ``output``, unless that is None."""
    outputs = list(node.output) if output is None else [output]
    made = helper.make_node(node.op_type, list(node.input), outputs, domain=node.domain or None)
    made.attribute.extend(node.attribute)
    return made
