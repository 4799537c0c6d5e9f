"""A name that a request holds may stand for many: ``/head/*``, ``op:Softmax``, ``tensor:/x/y``, ``re:.*/attn_\\d+/.*``.

A name that exists is never a pattern. Else ``*`` (any characters, slashes too) and ``?`` (one character) make one, and
the prefixes ``op:`` (op types), ``tensor:`` (what writes a tensor, or reads it where it is fed or constant) and ``re:``
(a regular expression of the whole name). Brackets mean themselves: exporters write them into names.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..errors import OptionError, UnknownNameError
from ..request.renames import OP

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from onnx import NodeProto

    from ..graph import Graph

TENSOR, REGEX, GLOB = "tensor:", "re:", ""
SHOWN = 3


@dataclass(frozen=True)
class Pattern:
    """One pattern: what it is compared with (a prefix, or GLOB for names), and the compiled form."""

    text: str
    kind: str
    compiled: re.Pattern[str]

    def hits(self, name: str) -> bool:
        """Whether it stands for this name (op type, tensor)."""
        return self.compiled.fullmatch(name) is not None


def parsed(text: str, existing: Container[str], argument: str) -> Pattern | None:
    """The pattern that the text is, None where it is a name.

    Raises:
        OptionError: what follows ``re:`` is no regular expression.
    """
    if text in existing:
        return None
    kind = next((prefix for prefix in (OP, TENSOR, REGEX) if text.startswith(prefix)), GLOB)
    rest = text.removeprefix(kind)
    if kind == REGEX:
        try:
            return Pattern(text, kind, re.compile(rest))
        except re.error as error:
            raise OptionError(f"{argument}: {text!r} is no regular expression: {error}") from error
    if kind == GLOB and not ("*" in text or "?" in text):
        return None
    parts = (".*" if part == "*" else "." if part == "?" else re.escape(part) for part in re.split(r"([*?])", rest))
    return Pattern(text, kind, re.compile("".join(parts), re.DOTALL))


def hits_node(pattern: Pattern, node: NodeProto, graph: Graph) -> bool:
    """Whether it stands for this node."""
    if pattern.kind == OP:
        return pattern.hits(node.op_type)
    if pattern.kind == TENSOR:
        fed = (tensor for tensor in node.input if tensor and graph.producer(tensor) is None)
        return any(pattern.hits(tensor) for tensor in (*node.output, *fed) if tensor)
    return pattern.hits(node.name)


def no_node(pattern: Pattern, argument: str, nodes: Iterable[NodeProto], graph: Graph) -> UnknownNameError:
    """The error of a pattern that stands for none of the nodes."""
    if pattern.kind == OP:
        return no_hit(pattern, argument, "node's op type", [node.op_type for node in nodes])
    if pattern.kind == TENSOR:
        known = [*graph.inputs, *(name for node in nodes for name in node.output)]
        return no_hit(pattern, argument, "tensor", known)
    return no_hit(pattern, argument, "node", [node.name for node in nodes])


def name_nodes(graph: Graph) -> None:
    """Nodes without a name get that of the report (NameNodes), so that patterns hit them by it."""
    for node in graph:
        if not node.name:
            output = next((tensor for tensor in node.output if tensor), "")
            node.name = graph.unique(f"{node.op_type}_{output}")


def no_hit(pattern: Pattern, argument: str, what: str, known: Iterable[str]) -> UnknownNameError:
    """The error of a pattern that stands for nothing, with the names nearest to it."""
    literal = re.sub(r"[*?]|\.\*|\\[a-z]\+?", "", pattern.text.removeprefix(pattern.kind))
    near = _nearest(literal, dict.fromkeys(known))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return UnknownNameError(f"{argument}: the pattern {pattern.text!r} hits no {what}{hint}")


def _nearest(literal: str, known: Iterable[str]) -> list[str]:
    """Names that hold the literal part, whatever its case, else names of which a piece as long is close to it."""
    names = [name for name in known if name]
    lowered = literal.lower()
    holding = [name for name in names if lowered and lowered in name.lower()]
    if holding:
        return holding[:SHOWN]
    pieces: dict[str, list[str]] = {}
    for name in names:
        for piece in dict.fromkeys((name, name[: len(literal)], name[max(len(name) - len(literal), 0) :])):
            pieces.setdefault(piece, []).append(name)
    close = get_close_matches(literal, pieces, n=SHOWN, cutoff=0.6)
    return list(dict.fromkeys(name for piece in close for name in pieces[piece]))[:SHOWN]
