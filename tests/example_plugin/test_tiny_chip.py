"""A foreign package of thirty lines, installed by its entry point, is found, obeyed, and wins over the bundled ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pluggy
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.errors import PluginError, UnsupportedError
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import check_plugin

HERE = Path(__file__).parent


def install(folder: Path, name: str, version: str, source: str, entry: str = "") -> None:
    """A module and the dist-info that pip would write for it."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[ort_vitis_plugin]\n{entry or name} = {name}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path where packages are installed; modules from it are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("ort_vitis_tiny_chip", "ort_vitis_mine", "ort_vitis_other"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def tiny_chip(site: Path) -> pluggy.PluginManager:
    install(site, "ort_vitis_tiny_chip", "1.2.3", (HERE / "ort_vitis_tiny_chip.py").read_text(), "tiny_chip")
    return new_manager()


MODEL = "t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }"


@pytest.fixture
def model(graph: Callable[..., onnx.ModelProto]) -> onnx.ModelProto:
    """A Conv with small weights and inputs and a huge bias: wpos + ipos - opos is far above 8 when left alone."""
    rng = np.random.default_rng(0)
    weights = (rng.standard_normal((4, 4, 3, 3)) * 1e-3).astype(np.float32)
    return graph(MODEL, constants={"w": weights, "b": np.array([9, -9, 5, -5], np.float32)})


def positions(model: onnx.ModelProto) -> tuple[int, int, int]:
    """(wpos, ipos, opos) of the only Conv."""
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    producers = {node.output[0]: node for node in model.graph.node}
    readers = {node.input[0]: node for node in model.graph.node}
    conv = next(node for node in model.graph.node if node.op_type == "Conv")

    def position(node: onnx.NodeProto) -> int:
        return -int(np.log2(float(constants[node.input[1]])))

    return (
        position(producers[conv.input[1]]),
        position(producers[conv.input[0]]),
        position(readers[conv.output[0]]),
    )


def quantize(model: onnx.ModelProto, plugins: pluggy.PluginManager, reader: Any, **options: Any) -> Any:
    return ort_vitis_plugin.quantize_static(
        model,
        None,
        reader,
        calibrate_method=ort_vitis_plugin.PowerOfTwoMethod.MinMSE,
        extra_options=options,
        plugins=plugins,
    )


def test_the_rule_of_a_foreign_target_holds(site: Path, model: onnx.ModelProto, reader: Callable[..., Any]) -> None:
    manager = tiny_chip(site)
    wpos, ipos, opos = positions(quantize(model, manager, reader(model), Target="tiny_chip", TinyChipShift=False).model)
    assert wpos + ipos - opos > 8
    result = quantize(model, manager, reader(model), Target="tiny_chip")
    wpos, ipos, opos = positions(result.model)
    assert wpos + ipos - opos <= 8
    assert {rule for move in result.report.moves for rule in move.rules} == {"TinyChipShift"}


def test_explain_names_its_distribution(site: Path) -> None:
    tiny_chip(site)
    answer = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "explain", "tiny_chip"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": f"{site}:{HERE.parents[1]}"},
    )
    assert "ort-vitis-tiny-chip 1.2.3" in answer.stdout


def test_command_line_takes_it_as_preset(site: Path, model: onnx.ModelProto) -> None:
    tiny_chip(site)
    onnx.save(model, site / "m.onnx")
    arguments = ["quantize", "m.onnx", "-o", "q.onnx", "--preset", "tiny_chip", "--json", "r.json", "-q"]
    subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", *arguments],
        check=True,
        cwd=site,
        env={"PYTHONPATH": f"{site}:{HERE.parents[1]}"},
    )
    rules = {rule for move in json.loads((site / "r.json").read_text())["moves"] for rule in move["rules"]}
    assert rules == {"TinyChipShift"}


OVERRIDE = '''"""Another ipu_cnn."""

from ort_vitis_plugin.api import Target, UnsupportedError, hookimpl


def check(run):
    raise UnsupportedError("mine says no")


@hookimpl
def vitis_declare():
    yield Target("ipu_cnn", "Mine.", check=check)
'''


def test_foreign_wins_over_bundled(site: Path, model: onnx.ModelProto, reader: Callable[..., Any]) -> None:
    install(site, "ort_vitis_mine", "0.1", OVERRIDE)
    manager = new_manager()
    found = [entry.plugin for entry in Catalog(manager).explain("ipu_cnn") if entry.kind == "Target"]
    assert found == ["ort_vitis_mine", "ort_vitis_ipu"]
    with pytest.raises(UnsupportedError, match="mine says no"):
        quantize(model, manager, reader(model), Target="ipu_cnn")


def test_two_foreign_plugins_with_one_key_are_refused(site: Path) -> None:
    install(site, "ort_vitis_mine", "0.1", OVERRIDE)
    install(site, "ort_vitis_other", "0.1", OVERRIDE)
    with pytest.raises(PluginError, match="both declare the Target ipu_cnn") as caught:
        Catalog(new_manager())
    assert "ort_vitis_mine" in str(caught.value)
    assert "ort_vitis_other" in str(caught.value)


def test_blocked_plugins_stay_out(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_VITIS_BLOCK", "tiny_chip")
    assert not [e for e in Catalog(tiny_chip(site)).entries if "tiny" in str(e.plugin)]


def test_example_keeps_the_contract_of_plugins(site: Path) -> None:
    tiny_chip(site)
    import ort_vitis_tiny_chip  # type: ignore[import-not-found]

    assert len(check_plugin(ort_vitis_tiny_chip)) == 2
    assert len((HERE / "ort_vitis_tiny_chip.py").read_text().splitlines()) <= 30
