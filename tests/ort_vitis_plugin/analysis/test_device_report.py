"""The provider's report is read as its manual shows it; this machine has no NPU, so a stand-in of the file is read."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ort_vitis_plugin.analysis.device_report import FILE, PROVIDER, compile_and_run, read_report
from ort_vitis_plugin.analysis.placement_forecast import Placement, forecast
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.errors import ModelError, UnsupportedError


def stand_in(folder: Path, device: str = "NPU", left: tuple[str, ...] = ()) -> Path:
    """A report as the manual shows it, for the demo: all of it on the device but what is ``left``."""
    ops = sorted({entry.op_type for entry in forecast(data.model_path())} | {"QuantizeLinear", "DequantizeLinear"})
    taken = [op for op in ops if op not in left]
    stated = [
        {"name": "all", "nodeNum": 40, "supportedOpType": [f"::{op}" for op in ops]},
        {"name": "CPU", "nodeNum": 2, "supportedOpType": [f"::{op}" for op in ("QuantizeLinear", *left)]},
        {"name": device, "nodeNum": 38, "supportedOpType": [f"::{op}" for op in taken]},
    ]
    file = folder / FILE
    file.write_text(json.dumps({"deviceStat": stated, "nodeStat": []}))
    return file


@pytest.mark.parametrize("device", ["NPU", "DPU"])
def test_counts_and_types_are_read(device: str, tmp_path: Path) -> None:
    found = read_report(stand_in(tmp_path, device))
    assert (found.total, found.on_device) == (40, 38)
    assert "Conv" in found.taken
    assert found.left == {"QuantizeLinear"}


def test_it_is_held_against_the_forecast(tmp_path: Path) -> None:
    placed = forecast(data.model_path())
    assert read_report(stand_in(tmp_path)).against(placed) == []
    found = read_report(stand_in(tmp_path, left=("Concat",))).against(placed)
    assert found == [("Concat", "forecast for the device, left on the CPU")]
    feared = [Placement("a", "Gemm", "why not"), Placement("b", "Conv", None)]
    assert read_report(stand_in(tmp_path)).against(feared) == [("Gemm", "not forecast for the device, taken by it")]


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"deviceStat": [{"name": "CPU"}]}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(ModelError, match=f"is no report of {PROVIDER}"):
            read_report(tmp_path / FILE)
    with pytest.raises(ModelError, match="no report"):
        read_report(tmp_path / "none.json")


def test_without_the_provider_it_says_where_to_go(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"run this where AMD's Ryzen AI software is installed.*--report"):
        compile_and_run(data.model_path(), tmp_path, {})


def test_with_the_provider_it_compiles_runs_and_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in of the session: the provider's options are the manual's, and the report is taken from its cache."""
    import onnxruntime

    asked: dict[str, Any] = {}

    class Session:
        def __init__(self, model: str, providers: list[Any]) -> None:
            asked["model"], asked["providers"] = model, providers
            cache = Path(providers[0][1]["cache_dir"]) / providers[0][1]["cache_key"]
            cache.mkdir(parents=True)
            stand_in(cache)

        def run(self, names: Any, feed: dict[str, Any]) -> None:
            asked["feed"] = feed

    monkeypatch.setenv("XLNX_ONNX_EP_REPORT_FILE", FILE)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [PROVIDER])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    feed = data.evaluation_feeds(1)[0]
    file = compile_and_run("m/digits.onnx", tmp_path / "cache", {"xclbin": "4x4.xclbin"}, feed)
    assert file == tmp_path / "cache" / "digits" / FILE
    name, options = asked["providers"][0]
    assert (name, asked["providers"][1]) == (PROVIDER, "CPUExecutionProvider")
    assert (options["cache_key"], options["xclbin"]) == ("digits", "4x4.xclbin")
    assert asked["feed"] == feed
