"""What is found on the written network goes back into its plan: constants of its graph, and curves of their errors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import change_constant, written

from .finetune import finetune
from .simulation import simulation_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnx import ModelProto

    from ort_vitis_plugin.api import Context, Feed, Graph, Judged, NetworkError, Plan

    from .finetuned import Finetuned, LayerResult
    from .settings import FinetuneSettings
    from .walk import Session

CODES = "_quantized"


class RecipeJudge:
    """The samples that judged the recipe."""

    def __init__(self, known: Judged) -> None:
        self._judge, self.before = known.judge, known.error

    def error_of(self, model: ModelProto) -> NetworkError:
        """How far a network is from float."""
        return self._judge.error_of(model, may_have_twin=False)  # its weights are no codes


def finetuned_plan(
    plan: Plan,
    float_graph: Graph,
    feeds: list[Feed],
    context: Context,
    settings: FinetuneSettings,
    *,
    on_layer: Callable[[LayerResult, int, int], object] | None = None,
    result_path: str | Path | None = None,
    known: Judged | None = None,
) -> Finetuned:
    """Change the plan's weights and biases such that layers, and the network, come nearer to the float network.

    ``known`` says what samples that are not among the feeds say of the plan; they judge, where it is given.
    """
    integers = [tensor for tensor in plan if tensor.kind.is_integer]
    limits = {name: each.kind.limits() for each in integers for name in (each.name, each.name + CODES)}
    simulation = simulation_of(written(plan, context) if known is None else known.model, limits)

    def opened(model: ModelProto) -> Session:
        session: Session = context.open_session(model, as_written=True)
        return session

    def opened_fast(model: ModelProto) -> Session:
        session: Session = context.open_session(model, fast=True)
        return session

    judge = None if known is None else RecipeJudge(known)
    found = finetune(
        *(float_graph.to_model(), simulation, feeds, opened, settings),
        on_layer=on_layer,
        result_path=result_path,
        judge=judge,
        open_float=opened_fast,
    )
    for name, values in (*found.weights.items(), *found.biases.items()):
        if name in plan.graph.initializers:
            change_constant(plan, name, values, context)
    return found
