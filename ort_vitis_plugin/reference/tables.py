"""The generated tables of the documentation: what the plugins declare, as Markdown between markers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..numerics.qtypes import QType
from ..plugin import hookspecs
from ..plugin.catalog import Catalog
from ..plugin.declarations import (
    Adjuster,
    Format,
    Fusion,
    ModelTransform,
    Preset,
    QuantizedType,
    Stage,
    Target,
)
from ..plugin.decorators import documentation
from ..plugin.entries import full_name
from ..plugin.methods import Method
from ..plugin.rounding import WeightRounding
from .manual import rows

# Writes the Markdown of one block, from what is declared and from the checkout.
Block = Callable[[Catalog, Path], str]


def markdown(headings: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    titles = list(headings)
    body = [titles, ["---"] * len(titles), *([_cell(value) for value in line] for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in body)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _code(value: object) -> str:
    return f"`{value}`" if str(value) else ""


def option_table(catalog: Catalog, root: Path) -> str:
    """Every key of extra_options."""
    return markdown(
        ("key", "type", "default", "needs", "what it does"),
        (
            (
                " ".join(map(_code, (option.key, *option.aliases))),
                _code(option.type_name),
                _code(repr(option.default)),
                _code(option.needs or ""),
                option.doc,
            )
            for option in sorted(catalog.options.values(), key=lambda option: option.key.lower())
        ),
    )


def transform_table(catalog: Catalog, root: Path) -> str:
    """Rewrites of the float graph by stage, in the order in which they run."""
    lines: list[tuple[str, ...]] = [("load", _code(step.key), "", "", step.doc) for step in catalog.all(ModelTransform)]
    names = [target.name for target in catalog.all(Target)]
    for stage in Stage:
        for step in catalog.steps(stage, names):
            default = "no switch" if step.option is None else "on" if step.option.default else "off"
            lines.append((stage.value, _code(step.key), _code(step.target or ""), default, step.doc))
    return markdown(("stage", "step", "target", "default", "what it does"), lines)


def rule_table(catalog: Catalog, root: Path) -> str:
    """Hardware rules and fused pairs."""
    lines = [
        (_code(rule.key), _code(rule.target or ""), ", ".join(sorted(rule.ops)), rule.doc)
        for rule in catalog.all(Adjuster)
    ]
    lines += [
        (
            _code(pair.key),
            _code(pair.target or ""),
            f"{_short(pair.producers)} → {_short(pair.consumers)}",
            pair.doc + ("" if pair.option is None or pair.option.default else " Off by default."),
        )
        for pair in catalog.all(Fusion)
    ]
    return markdown(("rule or fused pair", "target", "op types", "what holds"), lines)


def _short(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def format_table(catalog: Catalog, root: Path) -> str:
    """How quantized tensors are written."""
    return markdown(
        ("format", "what is written"), ((_code(full_name(entry.key)), entry.doc) for entry in catalog.all(Format))
    )


def type_table(catalog: Catalog, root: Path) -> str:
    """Types of codes that plugins declare, beside the integers and half floats of the host."""
    lines = ((_code(entry.key), entry.doc, _writers(catalog, entry.kind)) for entry in catalog.all(QuantizedType))
    return markdown(("type", "what it is", "formats"), lines)


def _writers(catalog: Catalog, kind: QType) -> str:
    return ", ".join(_code(full_name(entry.key)) for entry in catalog.all(Format) if entry.accepts(kind))


def method_table(catalog: Catalog, root: Path) -> str:
    """Calibration methods."""
    return markdown(
        ("method", "scales", "what it does"),
        (
            (_code(full_name(entry.key)), "powers of two" if entry.power_of_two else "float", entry.doc)
            for entry in catalog.all(Method)
        ),
    )


def rounding_table(catalog: Catalog, root: Path) -> str:
    """Algorithms of FastFinetune that plugins bring, with the keys that each reads."""
    return markdown(
        ("algorithm", "what it does", "parameters"),
        ((_code(each.key), each.doc, _settings(each.parameters)) for each in catalog.all(WeightRounding)),
    )


def target_table(catalog: Catalog, root: Path) -> str:
    """Devices, with what each sets where the call leaves it alone."""
    return markdown(
        ("target", "device", "defaults"),
        ((_code(target.name), target.doc, _settings(target.defaults)) for target in catalog.all(Target)),
    )


def preset_table(catalog: Catalog, root: Path) -> str:
    """Named configurations."""
    return markdown(
        ("preset", "what it is for", "what it sets"),
        (
            (_code(preset.name), preset.doc, _settings({**preset.recipe, **preset.arguments}))
            for preset in catalog.all(Preset)
        ),
    )


def _settings(values: Any) -> str:
    return ", ".join(
        f"`{key}={full_name(value) if hasattr(value, 'name') else value}`" for key, value in values.items()
    )


def hook_table(catalog: Catalog, root: Path) -> str:
    """The hooks of a plugin."""
    found = [value for value in vars(hookspecs).values() if hasattr(value, "ort_vitis_plugin_spec")]
    return markdown(
        ("hook", "when it is called and what it may return"),
        ((_code(f"{hook.__name__}({', '.join(inspect.signature(hook).parameters)})"), _whole(hook)) for hook in found),
    )


def _whole(function: Callable[..., Any]) -> str:
    return " ".join(documentation(function).split())


def manual_table(catalog: Catalog, root: Path) -> str:
    """The manual's arguments and options, each with its default and the tests that prove it."""
    lines = []
    for row in rows(catalog, root):
        default = "as documented" if row.as_documented else "missing" if row.found is None else _code(row.found)
        proofs = [f"`{test.rpartition('::')[2]}` in `{test.partition('::')[0]}`" for test in row.tests[:2]]
        documented = "not stated" if row.documented == "?" else _code(row.documented)
        lines.append((_code(row.name), documented, default, ", ".join(proofs)))
    return markdown(("name", "documented default", "default here", "proved by"), lines)


def example_source(catalog: Catalog, root: Path) -> str:
    """The foreign plugin that the tests install and run."""
    source = (root / "tests" / "example_plugin" / "ort_vitis_tiny_chip.py").read_text(encoding="utf-8")
    return f"```python\n{source}```\n"


def example_package(catalog: Catalog, root: Path) -> str:
    """The package of that plugin."""
    source = (root / "tests" / "example_plugin" / "pyproject.toml").read_text(encoding="utf-8")
    return f"```ini\n{source}```\n"


BLOCKS: dict[str, Block] = {
    "targets": target_table,
    "presets": preset_table,
    "formats": format_table,
    "types": type_table,
    "methods": method_table,
    "roundings": rounding_table,
    "options": option_table,
    "transforms": transform_table,
    "rules": rule_table,
    "hooks": hook_table,
    "example": example_source,
    "example-package": example_package,
    "manual": manual_table,
}
