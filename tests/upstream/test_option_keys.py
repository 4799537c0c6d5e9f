"""Every key that the installed ORT reads from ``extra_options`` is declared, and nothing that no ORT reads."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import onnxruntime.quantization
import pytest

from ort_vitis_plugin.options.ort_options import OrtOptions

SOURCES = Path(onnxruntime.quantization.__file__).parent

# Their dictionaries are others: the calibrators' own keyword arguments, and a vendored library.
NOT_OURS = ("calibrate.py", "neural_compressor")

# Keys that only a newer ORT reads; the two pages of this table differ by release.
SINCE = {"ActivationRestrictedAsymmetric": (1, 32), "BlockSize": (1, 32)}


def keys(tree: ast.AST) -> Iterator[str]:
    """Keys that a module looks up in a dictionary called extra_options, and those it renames for the calibrators."""
    constants = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def text(node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name) and node.id in constants:
            yield constants[node.id]

    def is_options(node: ast.expr) -> bool:
        if isinstance(node, ast.BoolOp):
            return any(map(is_options, node.values))
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        return name.endswith("extra_options")

    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=options, attr="get" | "pop" | "setdefault"), args=[key, *_]):
                if is_options(options):
                    yield from text(key)
            case ast.Subscript(value=options, slice=key) if is_options(options):
                yield from text(key)
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[options]) if is_options(options):
                yield from text(key)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=pairs)) if name.endswith("options_keys"):
                # Pairs of an option and a calibrator's argument, in either order; only options are in CamelCase.
                parts = [part for pair in pairs if isinstance(pair, ast.Tuple) for part in pair.elts]
                yield from (key for part in parts for key in text(part) if key[0].isupper())


def upstream_keys() -> dict[str, str]:
    """Key -> the file of the installed ORT that reads it."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        place = str(path.relative_to(SOURCES))
        if not place.startswith(NOT_OURS):
            found.update(dict.fromkeys(keys(ast.parse(path.read_text(encoding="utf-8"))), place))
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("other.get('No')", set()),
        ("self.extra_options.get('A', 1)", {"A"}),
        ("x = (extra_options or {}).get('B')", {"B"}),
        ("if 'C' in extra_options and extra_options['D']: pass", {"C", "D"}),
        ("name = 'E'\nself.quantizer.extra_options[name]", {"E"}),
        ("calib_extra_options_keys = [('F', 'f'), ('h', 'H')]", {"F", "H"}),
        ("final_extra_options['G'] = True", {"G"}),
    ],
)
def test_scanner(source: str, expected: set[str]) -> None:
    assert set(keys(ast.parse(source))) == expected


def test_scanner_finds_keys_of_every_kind() -> None:
    found = upstream_keys()
    assert {
        "ActivationSymmetric", "CalibPercentile", "TensorQuantOverrides", "extra.Sigmoid.nnapi", "MatMulConstBOnly"
    } <= found.keys()  # fmt: skip


def test_every_key_is_declared() -> None:
    declared = {option.key for option in OrtOptions.options()}
    missing = {key: place for key, place in upstream_keys().items() if key not in declared}
    assert not missing, "declare these in ort_vitis_plugin/options/ort_options.py"


def test_every_declared_key_is_read() -> None:
    release = tuple(map(int, onnxruntime.__version__.split(".")[:2]))
    expected = {option.key for option in OrtOptions.options() if SINCE.get(option.key, (0,)) <= release}
    assert expected <= upstream_keys().keys()


def test_defaults_are_of_the_declared_type() -> None:
    for option in OrtOptions.options():
        option.validate(option.default)
        assert option.doc.endswith(".")
