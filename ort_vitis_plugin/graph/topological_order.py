"""Nodes come after what they read, and otherwise in the order in which they stood."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from ..errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import NodeProto


def in_order(
    nodes: Mapping[int, NodeProto],
    producers: Mapping[str, NodeProto],
    consumers: Mapping[str, Mapping[int, NodeProto]],
    reads: Callable[[NodeProto], set[str]],
) -> list[NodeProto]:
    """Topological order that keeps today's order where it is free to.

    Raises:
        ModelError: the graph holds a circle.
    """
    order = {key: number for number, key in enumerate(nodes)}
    waiting: dict[int, int] = {}
    ready: list[tuple[int, int]] = []
    made = producers.keys()
    for key, node in nodes.items():
        waits = len(made & reads(node))
        waiting[key] = waits
        if not waits:
            heapq.heappush(ready, (order[key], key))
    result: list[NodeProto] = []
    while ready:
        _, key = heapq.heappop(ready)
        node = nodes[key]
        result.append(node)
        for tensor in node.output:
            for reader in consumers.get(tensor, {}) if tensor else ():
                waiting[reader] -= 1
                if not waiting[reader]:
                    heapq.heappush(ready, (order[reader], reader))
    if len(result) != len(nodes):
        stuck = [node.name or node.op_type for key, node in nodes.items() if waiting[key]]
        raise ModelError(f"the graph has a cycle through {', '.join(stuck[:5])}")
    return result
