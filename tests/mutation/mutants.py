"""A mutant is one small change of one module: cosmic-ray's operators say which, a seed says what is tried."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import difflib
import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

from .rooms import ROOMS, ROOT

Position = tuple[int, int]  # line from 1, column from 0
STAR = re.compile(r"\*{1,2}(,|[a-z_]+[,)])")  # of parameters and of what is unpacked: no product
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.FunctionDef, ast.ClassDef)
SAME = ("_Eq_Is", "_Is_Eq", "_NotEq_IsNot", "_IsNot_NotEq")  # None, members and short texts are one object each


@dataclass(frozen=True)
class Mutant:
    """The ``occurrence``-th place of an operator in a file; ``lines`` are those that it changes."""

    room: str
    file: str
    operator: str
    occurrence: int
    lines: range

    @property
    def kind(self) -> str:
        """The operator without what it puts there."""
        return self.operator.split("_")[0]

    def code(self, root: Path = ROOT) -> str:
        """The whole module with the change."""
        changed = mutate_code(_source(root, self.file), get_operator(self.operator)(), self.occurrence)
        if changed is None:
            raise ValueError(f"{self.file} has no place {self.occurrence} of {self.operator}")
        return str(changed)

    def statement(self, root: Path = ROOT) -> range:
        """The lines of the innermost statement that holds the change; of one with a block, those of its head."""
        found = self.lines
        for node in ast.walk(ast.parse(_source(root, self.file))):  # outer ones first
            if isinstance(node, ast.stmt) and node.end_lineno is not None:
                last = node.body[0].lineno - 1 if isinstance(node, _BLOCKS) else node.end_lineno
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
                lines = range(first, max(last, first) + 1)
                if self.lines.start in lines:
                    found = lines
        return found

    def difference(self, root: Path = ROOT) -> tuple[str, str]:
        """The lines that go and those that come, without their indents."""
        changes = [*difflib.ndiff(_source(root, self.file).splitlines(), self.code(root).splitlines())]
        gone, come = ([line[2:].strip() for line in changes if line.startswith(sign)] for sign in ("- ", "+ "))
        return "\n".join(gone), "\n".join(come)


def _source(root: Path, file: str) -> str:
    return (root / file).read_text(encoding="utf-8")


def _operators() -> Iterator[tuple[str, Operator]]:
    for name in sorted(operator_names()):
        if not get_operator(name).arguments():
            yield name, get_operator(name)()


def unread(source: str) -> list[tuple[Position, Position]]:
    """What changes no result: annotations, imports for typing, decorators that cache or freeze."""
    spans: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            spans.append(node.annotation)
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            spans.append(node.returns)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            spans += [each for each in node.decorator_list if ast.unparse(each).startswith(("cache", "dataclass"))]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            spans.append(node)
    return [
        ((each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset))  # type: ignore[attr-defined]
        for each in spans
    ]


def sites(room: str, file: str) -> Iterator[list[Mutant]]:
    """Mutants of one place and one kind, together: ``<`` has six, but it is one place."""
    source = _source(ROOT, file)
    hidden = unread(source)
    nodes = [*ast_nodes(get_ast(source))]
    found: dict[tuple[Position, str], list[Mutant]] = defaultdict(list)
    for name, operator in _operators():
        places = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, (start, stop) in enumerate(places):
            text = source.splitlines()[start[0] - 1][start[1] :]
            at = (start[0], start[1] + 1) if text.startswith("@") else start
            if not (any(begin <= at <= end for begin, end in hidden) or STAR.match(text) or name.endswith(SAME)):
                mutant = Mutant(room, file, name, occurrence, range(start[0], stop[0] + 1))
                found[start, mutant.kind].append(mutant)
    yield from (found[key] for key in sorted(found))


def chosen(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """So many mutants, each at a place of its own; equal seeds give equal mutants.

    Each place draws a number from its own text, so that a change of the code leaves those of all other lines.
    """
    drawn: dict[str, list[Mutant]] = {}
    for room in rooms:
        for file in ROOMS[room].files():
            lines = _source(ROOT, file).splitlines()
            texts: Counter[str] = Counter()
            for site in sites(room, file):
                text = f"{file} {site[0].kind} {lines[site[0].lines.start - 1].strip()}"
                texts[text] += 1
                drawn[hashlib.sha256(f"{seed} {text} {texts[text]}".encode()).hexdigest()] = site
    return [random.Random(number).choice(drawn[number]) for number in sorted(drawn)[:count]]
