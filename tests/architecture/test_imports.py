"""Who may import whom; what an import may touch; and that public functions say what they do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

from ort_vitis_plugin.reference.house_map import FLOORS
from tests.architecture.trees import BUNDLED, HOST, ROOT, files, module_name, parsed

# The only modules that may look below onnxruntime.quantization's public names, besides the plugin ort_vitis_upstream.
ORT_INTERNALS = {
    "ort_vitis_plugin.api": "re-exports the base class of operator handlers, which plugins subclass",
    "ort_vitis_plugin.entry.attach": "swaps the code of two functions",
    "ort_vitis_plugin.entry.create_calibrator": "gives ranges in the classes that onnxruntime's quantizers take",
    "ort_vitis_plugin.legacy.quantizer": "the quantizer of 2019 is onnxruntime's today, with what it lacks",
    "ort_vitis_plugin.pipeline.weight_only": "runs onnxruntime's own tool for weights in blocks",
    "ort_vitis_plugin.planning.marker": "the handlers mark through a QDQQuantizer",
    "ort_vitis_plugin.planning.ort_index": "the handlers ask an ONNXModel, here with an index",
}

# What plugins may import of the host: the API, and the conversions between written models.
PUBLIC = ("ort_vitis_plugin.api", "ort_vitis_plugin.convert")

THIRD_PARTY = {
    "google",
    "ml_dtypes",
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime_extensions",
    "pluggy",
    "rich",
    "rich_click",
    "click",
}


FILES = {module_name(file): file for file in files()}
HOST_MODULES = [name for name, file in FILES.items() if file.is_relative_to(HOST)]
PLUGIN_MODULES = [name for name in FILES if name not in HOST_MODULES]


def imports(name: str, tree: ast.AST, *, package: bool) -> Iterator[str]:
    """Dotted names that a module imports, typing and lazy imports counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = name.split(".") if package else name.split(".")[:-1]
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def everything(name: str) -> frozenset[str]:
    """All that a module imports."""
    file = FILES[name]
    return frozenset(imports(name, parsed(file), package=file.name == "__init__.py"))


def strange_imports_of_a_plugin(name: str) -> list[str]:
    own = name.split(".")[0]
    allowed = {own, "onnx", "numpy", "ml_dtypes", *sys.stdlib_module_names}
    allowed |= {"ort_vitis_upstream": {"onnxruntime"}, "ort_vitis_torch": {"torch"}}.get(own, set())
    strange = []
    for target in everything(name):
        top = target.split(".")[0]
        if top == "ort_vitis_plugin":
            if not target.startswith(PUBLIC) and target != "ort_vitis_plugin":
                strange.append(target)
        elif top not in allowed:
            strange.append(target)
    return strange


def test_plugins_import_the_api_and_no_other_plugin() -> None:
    assert {name: strange for name in PLUGIN_MODULES if (strange := strange_imports_of_a_plugin(name))} == {}


def strange_imports_of_the_host(name: str) -> list[str]:
    allowed = {"ort_vitis_plugin", *THIRD_PARTY, *sys.stdlib_module_names}
    if name == "ort_vitis_plugin.demo.train":
        allowed |= {"torch", "sklearn"}
    if name in ("ort_vitis_plugin.data_readers.pictures", "ort_vitis_plugin.data_readers.picture_to_array"):
        allowed.add("PIL")
    if name == "ort_vitis_plugin.analysis.plot":
        allowed.add("matplotlib")
    if name == "ort_vitis_plugin.report.page":
        allowed.add("jinja2")
    return [target for target in sorted(everything(name)) if target.split(".")[0] not in allowed]


def test_host_imports_no_plugin_and_nothing_undeclared() -> None:
    assert {name: strange for name in HOST_MODULES if (strange := strange_imports_of_the_host(name))} == {}


def internals(tree: ast.Module) -> set[str]:
    """Modules below onnxruntime.quantization that a module imports from, or names in a text of its code."""
    inside = "onnxruntime.quantization."
    nodes = list(ast.walk(tree))
    found = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    found |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found |= {text for text in texts if text.replace(".", "").replace("_", "").isalnum()}
    return {name for name in found if name.startswith(inside)}


def test_only_named_modules_look_into_onnxruntime_quantization() -> None:
    judged = {name: file for name, file in FILES.items() if name.split(".")[0] != "ort_vitis_upstream"}
    assert {name for name, file in judged.items() if internals(parsed(file))} == ORT_INTERNALS.keys()


def test_at_most_six_modules_look_inside() -> None:
    assert len(ORT_INTERNALS.keys() - {"ort_vitis_plugin.api"}) <= 6  # what api shows is for plugins, and does nothing


def test_no_circle() -> None:
    """Imports between modules never turn in a circle, typing and lazy ones counted.

    A package's ``__init__`` counts only where something is taken from it; its own modules never take from it.
    """
    edges: dict[str, set[str]] = {name: set() for name in HOST_MODULES}
    for name, target in arrows():
        edges[name].add(target)
    state: dict[str, int] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if state.get(name) == 2:
            return
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        for target in sorted(edges[name]):
            visit(target, (*path, name))
        state[name] = 2

    for name in edges:
        if name != "ort_vitis_plugin":
            visit(name, ())


def room_of(name: str) -> str:
    """The room on the ground plan in which a module of the host lies."""
    return name.split(".")[1] if "." in name else ""


def known_module(target: str) -> str | None:
    """The module of the host that an imported name lies in."""
    while target and target not in HOST_MODULES:
        target = target.rpartition(".")[0]
    return target or None


def arrows() -> Iterator[tuple[str, str]]:
    """(importing module, imported module) within the host, typing and lazy imports counted."""
    for name in HOST_MODULES:
        for target in everything(name):
            found = known_module(target)
            if found not in (None, name, "ort_vitis_plugin"):
                assert found is not None
                yield name, found


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(name) for name in HOST_MODULES} - {""}
    assert rooms == set(FLOORS)


def test_at_most_ten_files_lie_flat() -> None:
    assert len(list(HOST.glob("*.py"))) <= 10


def test_arrows_go_down() -> None:
    level = {room: number for number, room in enumerate(FLOORS)}
    upward = {
        f"{name} -> {target}"
        for name, target in arrows()
        if name != "ort_vitis_plugin" and level[room_of(target)] < level[room_of(name)]
    }
    assert upward == set()


def undocumented(tree: ast.Module) -> list[str]:
    """What says nothing of itself: the module, its public classes and functions."""
    silent = [] if ast.get_docstring(tree) else ["the module"]
    for node in tree.body:
        public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
        if public and not ast.get_docstring(node) and node.name not in ("vitis_declare", "main"):
            silent.append(node.name)
    return silent


def test_modules_and_public_functions_are_documented() -> None:
    assert {name: silent for name, file in FILES.items() if (silent := undocumented(parsed(file)))} == {}


def test_files_carry_one_licence_line() -> None:
    texts = {name: file.read_text(encoding="utf-8") for name, file in FILES.items()}
    assert [name for name, text in texts.items() if text.count("SPDX-License-Identifier: MIT") != 1] == []
    assert [name for name, text in texts.items() if "type: ignore\n" in text] == []


UNTOUCHED = """
import logging, warnings, os
import onnxruntime.quantization as q
from onnxruntime.quantization import calibrate, quant_utils, registry
quantize = __import__("sys").modules["onnxruntime.quantization.quantize"]

def state():
    loggers = {name: (log.level, len(log.handlers), log.propagate)
               for name, log in logging.root.manager.loggerDict.items()
               if isinstance(log, logging.Logger) and not name.startswith("ort_vitis")}
    return {
        "handlers": list(logging.root.handlers), "level": logging.root.level, "loggers": loggers,
        "filters": list(warnings.filters),
        "registries": [dict(table) for table in vars(registry).values() if isinstance(table, dict)
                       and table is not vars(registry).get("__builtins__")],
        "names": {module.__name__: {k: v for k, v in vars(module).items() if not k.startswith("__")}
                  for module in (q, calibrate, quant_utils, registry, quantize)},
        "environment": dict(os.environ),
    }

before = state()
import ort_vitis_plugin
ort_vitis_plugin.PowerOfTwoMethod.MinMSE
after = state()
for key in before:
    assert before[key] == after[key], key
"""


def test_import_touches_nothing_global() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", UNTOUCHED],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert (answer.returncode, answer.stderr) == (0, "")


def test_import_loads_no_plugin_and_no_heavy_module() -> None:
    code = "import sys, ort_vitis_plugin; print(' '.join(m for m in sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    loaded = set(answer.stdout.split())
    assert (
        loaded & {"difflib", "pluggy", "rich", "onnxruntime_extensions", "ort_vitis_plugin.pipeline", *BUNDLED} == set()
    )


def test_public_names_exist() -> None:
    import ort_vitis_plugin

    assert [name for name in ort_vitis_plugin.__all__ if not hasattr(ort_vitis_plugin, name)] == []
    from ort_vitis_plugin import api

    assert [name for name in api.__all__ if not hasattr(api, name)] == []
