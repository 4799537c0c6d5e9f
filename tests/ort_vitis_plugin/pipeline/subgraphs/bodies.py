"""Models with bodies, and how their parameters are read."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.graph import subgraphs
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model

if TYPE_CHECKING:
    from collections.abc import Iterator


Feeds = list[dict[str, Any]]


def weights(seed: int, shape: tuple[int, ...] = (4, 4)) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.8, 0.8, shape).astype(np.float32)


def samples(count: int = 6, **others: Any) -> Feeds:
    """Values of x, (2, 4), beside what ``others`` gives for each number."""
    draw = np.random.default_rng(7).standard_normal
    return [
        {"x": draw((2, 4)).astype(np.float32), **{name: np.asarray(of(at)) for name, of in others.items()}}
        for at in range(count)
    ]


def quantized(model: ModelProto, feeds: Feeds, **arguments: Any) -> Any:
    options = {"EnableSubgraph": True, **arguments.pop("extra_options", {})}
    before = model.SerializeToString(deterministic=True)
    result = quantize_static(model, None, feeds, extra_options=options, **arguments)
    assert model.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(result.model, full_check=True)
    return result


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    """All nodes, those of bodies included."""

    def walk(found: Any) -> Iterator[NodeProto]:
        for node in found:
            yield node
            for body in subgraphs(node):
                yield from walk(body.node)

    return walk(model.graph.node)


def bodies(model: ModelProto) -> list[list[str]]:
    """Op types of each body, outer ones first."""
    return [[node.op_type for node in body.node] for owner in nodes(model) for body in subgraphs(owner)]


def sqnr(before: ModelProto, after: ModelProto, feeds: Feeds) -> float:
    """The lesser of both optimization levels."""

    def outputs(model: ModelProto, level: Any) -> np.ndarray:
        return np.concatenate([run_model(model, feed, level)["y"].ravel() for feed in feeds])

    wanted = outputs(before, LEVELS[0])
    return min(sqnr_db(wanted, outputs(after, level)) for level in LEVELS)


def scale_inside(model: ModelProto, tensor: str) -> float:
    """The scale of a tensor of a body."""
    stored = [found for owner in nodes(model) for body in subgraphs(owner) for found in body.initializer]
    (scale,) = [onnx.numpy_helper.to_array(found).item() for found in stored if found.name == f"{tensor}_scale"]
    return float(scale)


TURNS: dict[str, Any] = {"turns": lambda at: np.int64(1 + at % 3)}


def branches(*, equal_names: bool = False) -> ModelProto:
    """y = MatMul(h, w1) or Sigmoid(MatMul(h, w2)), with h captured."""
    second = "mm" if equal_names else "other"
    text = f"""
    t (float[2,4] x, bool which) => (float[2,4] y) {{
      h = MatMul(x, w0)
      r = Relu(h)
      z = If (which) <
        then_branch = yes () => (float[2,4] t_out) {{
          [first] mm = MatMul(r, w1)
          t_out = Tanh(mm)
        }},
        else_branch = no () => (float[2,4] e_out) {{
          [{"first" if equal_names else "second"}] {second} = MatMul(r, w2)
          e_out = Sigmoid({second})
        }}
      >
      y = Add(z, r)
    }}
    """
    return graph(text, 17, {f"w{at}": weights(at) for at in range(3)})


BOTH: dict[str, Any] = {"which": lambda at: at % 2 == 0}
