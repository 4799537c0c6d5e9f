"""The generated tables of the documentation: what the plugins declare, as Markdown between markers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ..plugin import hookspecs
from ..plugin.catalog import Catalog
from ..plugin.declarations import Adjuster, Format, Fusion, ModelTransform, Preset, Stage, Target
from ..plugin.entries import full_name
from ..plugin.manager import new_manager
from ..plugin.methods import Method
from .manual import rows

# Where blocks may stand.
PAGES = ("README.md", "docs/**/*.md")

_BLOCK = re.compile(r"(<!-- begin: (?P<name>[a-z-]+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)


def markdown(headings: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    titles = list(headings)
    body = [titles, ["---"] * len(titles), *([_cell(value) for value in line] for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in body)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _code(value: object) -> str:
    return f"`{value}`" if str(value) else ""


def options(catalog: Catalog, root: Path) -> str:
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


def transforms(catalog: Catalog, root: Path) -> str:
    """Rewrites of the float graph by stage, in the order in which they run."""
    lines: list[tuple[str, ...]] = [("load", _code(step.key), "", "", step.doc) for step in catalog.all(ModelTransform)]
    names = [target.name for target in catalog.all(Target)]
    for stage in Stage:
        for step in catalog.steps(stage, names):
            default = "no switch" if step.option is None else "on" if step.option.default else "off"
            lines.append((stage.value, _code(step.key), _code(step.target or ""), default, step.doc))
    return markdown(("stage", "step", "target", "default", "what it does"), lines)


def rules(catalog: Catalog, root: Path) -> str:
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


def formats(catalog: Catalog, root: Path) -> str:
    """How quantized tensors are written."""
    return markdown(
        ("format", "what is written"), ((_code(full_name(entry.key)), entry.doc) for entry in catalog.all(Format))
    )


def methods(catalog: Catalog, root: Path) -> str:
    """Calibration methods."""
    return markdown(
        ("method", "scales", "what it does"),
        (
            (_code(full_name(entry.key)), "powers of two" if entry.power_of_two else "float", entry.doc)
            for entry in catalog.all(Method)
        ),
    )


def targets(catalog: Catalog, root: Path) -> str:
    """Devices, with what each sets where the call leaves it alone."""
    return markdown(
        ("target", "device", "defaults"),
        ((_code(target.name), target.doc, _settings(target.defaults)) for target in catalog.all(Target)),
    )


def presets(catalog: Catalog, root: Path) -> str:
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


def hooks(catalog: Catalog, root: Path) -> str:
    """The hooks of a plugin."""
    found = [value for value in vars(hookspecs).values() if hasattr(value, "ort_vitis_plugin_spec")]
    return markdown(
        ("hook", "when it is called and what it may return"),
        ((_code(f"{hook.__name__}({', '.join(inspect.signature(hook).parameters)})"), _whole(hook)) for hook in found),
    )


def _whole(function: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(function) or "").split())


def manual(catalog: Catalog, root: Path) -> str:
    """The manual's arguments and options, each with its default and the tests that prove it."""
    lines = []
    for row in rows(catalog, root):
        default = "as documented" if row.as_documented else "missing" if row.found is None else _code(row.found)
        proofs = [f"`{test.rpartition('::')[2]}` in `{test.partition('::')[0]}`" for test in row.tests[:2]]
        documented = "not stated" if row.documented == "?" else _code(row.documented)
        lines.append((_code(row.name), documented, default, ", ".join(proofs)))
    return markdown(("name", "documented default", "default here", "proved by"), lines)


def example(catalog: Catalog, root: Path) -> str:
    """The foreign plugin that the tests install and run."""
    source = (root / "tests" / "example_plugin" / "ort_vitis_tiny_chip.py").read_text(encoding="utf-8")
    return f"```python\n{source}```\n"


def example_package(catalog: Catalog, root: Path) -> str:
    """The package of that plugin."""
    source = (root / "tests" / "example_plugin" / "pyproject.toml").read_text(encoding="utf-8")
    return f"```ini\n{source}```\n"


BLOCKS: dict[str, Callable[[Catalog, Path], str]] = {
    "targets": targets,
    "presets": presets,
    "formats": formats,
    "methods": methods,
    "options": options,
    "transforms": transforms,
    "rules": rules,
    "hooks": hooks,
    "example": example,
    "example-package": example_package,
    "manual": manual,
}


@cache
def bundled_catalog() -> Catalog:
    """What this package brings, without the plugins that happen to be installed here."""
    return Catalog(new_manager(entry_points=False))


def rendered(text: str, root: Path) -> str:
    """The text with every block between markers written anew."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{BLOCKS[match['name']](bundled_catalog(), root)}{match[3]}"

    return _BLOCK.sub(block, text)


def pages(root: Path) -> list[Path]:
    """The files of a checkout in which blocks may stand."""
    return [page for pattern in PAGES for page in sorted(root.glob(pattern)) if "_build" not in page.parts]


def stale_blocks(root: Path) -> list[str]:
    """Names of the blocks that are not as they would be written, or not there."""
    there: dict[str, str] = {}
    stale: set[str] = set()
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        fresh = {match["name"]: match[0] for match in _BLOCK.finditer(rendered(text, root))}
        for match in _BLOCK.finditer(text):
            there[match["name"]] = match[0]
            if match[0] != fresh[match["name"]]:
                stale.add(match["name"])
    return [name for name in BLOCKS if name not in there or name in stale]


def write_blocks(root: Path) -> list[str]:
    """Write every block of every page; the names of those that changed."""
    stale = stale_blocks(root)
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        if (fresh := rendered(text, root)) != text:
            page.write_text(fresh, encoding="utf-8")
    return stale
