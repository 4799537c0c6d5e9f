"""What is found on the written network goes back into its plan: constants of its graph, and curves of their errors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import change_constant, written

from .finetune import finetune
from .simulation import simulation_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from onnx import ModelProto

    from ort_vitis_plugin.api import Context, Feed, Graph, Plan

    from .finetune import Finetuned, LayerResult
    from .settings import FinetuneSettings
    from .walk import Session

CODES = "_quantized"


def spread(samples: Iterable[Feed], known: int, most: int) -> list[Feed]:
    """At most ``most`` samples, evenly spread over the ``known`` ones."""
    wanted = set(np.linspace(0, known - 1, min(most, known)).astype(int).tolist())
    found = []
    for number, feed in enumerate(samples):
        if number in wanted:
            found.append(feed)
        if len(found) == len(wanted):
            break
    return found


def finetuned_plan(
    plan: Plan,
    float_graph: Graph,
    feeds: list[Feed],
    context: Context,
    settings: FinetuneSettings,
    *,
    on_layer: Callable[[LayerResult, int, int], object] | None = None,
    result_path: str | Path | None = None,
) -> Finetuned:
    """Change the plan's weights and biases such that layers, and the network, come nearer to the float network."""
    integers = [tensor for tensor in plan if tensor.kind.is_integer]
    limits = {name: each.kind.limits() for each in integers for name in (each.name, each.name + CODES)}
    simulation = simulation_of(written(plan, context), limits)

    def opened(model: ModelProto) -> Session:
        session: Session = context.open_session(model, as_written=True)
        return session

    found = finetune(
        float_graph.to_model(), simulation, feeds, opened, settings, on_layer=on_layer, result_path=result_path
    )
    for name, values in (*found.weights.items(), *found.biases.items()):
        if name in plan.graph.initializers:
            change_constant(plan, name, values, context)
    return found
