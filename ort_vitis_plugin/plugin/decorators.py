"""A function becomes a declaration by a decorator: its docstring's first line documents it, its key is its switch."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..options.options import Option
from .declarations import Adjuster, Fusion, LeaveFloat, Stage, StaysFloat, Transform

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..plan import Bound, Plan
    from .context import Context


def documentation(function: Callable[..., Any]) -> str:
    """A function's docstring; ``python -OO`` drops it, and then it comes from the source."""
    if (known := inspect.getdoc(function)) is not None:
        return known
    with suppress(OSError, TypeError, SyntaxError):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        if isinstance(tree, ast.FunctionDef):
            return ast.get_docstring(tree) or ""
    return ""


def _first_line(function: Callable[..., Any]) -> str:
    return (documentation(function) or function.__name__).splitlines()[0]


def transform(
    key: str,
    *,
    stage: Stage,
    default: bool | None = True,
    target: str | None = None,
    needs: str | None = None,
    changes_function: bool = False,
    before: Iterable[str] = (),
    after: Iterable[str] = (),
) -> Callable[[Callable[..., int]], Transform]:
    """Declare a graph rewrite; its switch is the boolean option ``key`` (``default=None``: always on, no switch)."""

    def declare(function: Callable[..., int]) -> Transform:
        doc = _first_line(function)
        switch = None if default is None else Option(key, bool, default, doc, needs)
        return Transform(key, doc, stage, function, switch, target, changes_function, tuple(before), tuple(after))

    return declare


def leave_float(
    key: str,
    *,
    stage: Stage,
    default: bool = True,
    target: str | None = None,
    before: Iterable[str] = (),
    after: Iterable[str] = (),
) -> Callable[[Callable[[Graph, Context], StaysFloat]], LeaveFloat]:
    """Declare what stays float; its switch is the boolean option ``key``, documented by the function's first line."""

    def declare(select: Callable[[Graph, Context], StaysFloat]) -> LeaveFloat:
        doc = _first_line(select)
        return LeaveFloat(key, doc, stage, select, Option(key, bool, default, doc), target, tuple(before), tuple(after))

    return declare


def adjuster(
    key: str,
    *,
    ops: Iterable[str],
    target: str | None = None,
    default: bool = True,
    needs: str | None = "IPULimitationCheck",
) -> Callable[[Callable[[Plan, NodeProto], Iterator[Bound]]], Adjuster]:
    """Declare a hardware rule; its switch is the boolean option ``key``, documented by the function's first line."""

    def declare(rule: Callable[[Plan, NodeProto], Iterator[Bound]]) -> Adjuster:
        doc = _first_line(rule)
        return Adjuster(key, doc, frozenset(ops), rule, Option(key, bool, default, doc, needs), target)

    return declare


def fusion(
    key: str,
    *,
    producers: Iterable[str],
    consumers: Iterable[str],
    target: str | None = None,
    default: bool | None = None,
) -> Callable[[Callable[[Graph, NodeProto, NodeProto], bool]], Fusion]:
    """Declare a fused pair; with ``default`` given, ``key`` is its switch."""

    def declare(applies: Callable[[Graph, NodeProto, NodeProto], bool]) -> Fusion:
        doc = _first_line(applies)
        switch = None if default is None else Option(key, bool, default, doc)
        return Fusion(key, doc, frozenset(producers), frozenset(consumers), applies, switch, target)

    return declare
