"""The three hooks of a plugin: what it declares, how it changes a request, what it sees of the run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from ..options.request import Request
    from .context import Context
    from .declarations import Declaration

PROJECT = "ort_vitis_plugin"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def vitis_declare() -> Iterable[Declaration]:
    """Yield option groups, targets, presets, types, formats, methods, op quantizers, transforms, rules of what stays
    float, corrections, hardware rules, fusions, scale formats, ways to round weights,
    namespaces, libraries.

    Asked once per plugin manager, on first use. Of equal keys the first in pluggy's call order wins.
    """
    raise NotImplementedError


@hookspec
def vitis_configure(request: Request) -> Request | None:
    """Return a changed copy of the request, or nothing. Called once per call, before the model is read.

    Raise to veto. Plugins see each other's changes in call order.
    """
    raise NotImplementedError


@hookspec(warn_on_impl_args={"run": DeprecationWarning("vitis_stage_done takes context in the place of run")})
def vitis_stage_done(stage: str, context: Context, value: Any, run: Context) -> None:
    """See what a stage of the pipeline made, for reports and dumps: a ModelProto with its weights in it, a Graph
    (``to_model()`` gives the whole model), statistics, a plan.

    Whole models are made for those who take ``value``, and only then. ``run`` is the old name of ``context``.
    """
    raise NotImplementedError
