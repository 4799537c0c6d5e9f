"""A third-party plugin that is broken breaks its own users alone, and says whose it is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from ort_vitis_plugin.errors import MissingPluginError, PluginError, PluginWarning, UnknownNameError
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import Manager, new_manager
from tests.ort_vitis_plugin.plugin.sites import (
    DECLARED,
    DEVICE,
    HEADER,
    TYPOS,
    Quantize,
    install,
    manager_of,
)

ROOT = Path(__file__).parents[3]


# How a plugin can be broken before any call: its source, and what the warning says.
BROKEN = {
    "import": ("import no_such_module_of_ours\n", "ModuleNotFoundError: No module named 'no_such_module_of_ours'"),
    "syntax": ("def :\n", "SyntaxError"),
    "exit": ("import sys; sys.exit(3)\n", "SystemExit: 3"),
    "declare": (HEADER + "@hookimpl\ndef vitis_declare():\n    yield 1 / 0\n", "ZeroDivisionError: division by zero"),
    "nonsense": (HEADER + "@hookimpl\ndef vitis_declare():\n    yield 'a string'\n", "yields 'a string', which is no"),
    "nothing": (HEADER + "@hookimpl\ndef vitis_declare():\n    return None\n", "TypeError: 'NoneType' object is not"),
    "unknown hook": (HEADER + DEVICE + "@hookimpl\ndef vitis_declares():\n    pass\n", "vitis_declares"),
    "wrong arguments": (HEADER + DEVICE + "@hookimpl\ndef vitis_configure(asked):\n    pass\n", "vitis_configure"),
}


def asked_manager() -> Manager:
    """A manager whose plugins have been asked what they declare."""
    manager = new_manager()
    Catalog(manager)
    return manager


@pytest.mark.parametrize(("source", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_it_is_left_out_with_one_warning(site: Path, quantize: Quantize, source: str, message: str) -> None:
    install(site, source)
    with pytest.warns(PluginWarning) as caught:
        manager = asked_manager()
    assert quantize(manager).model.graph.node
    assert quantize(manager, EnableDPU=True).model.graph.node
    (warning,) = caught
    for fact in ("plugin mine (ort-vitis-mine 0.3)", message, "ORT_VITIS_BLOCK=mine"):
        assert fact in str(warning.message)
    assert [each.name for each in manager.broken] == ["mine"]
    assert not manager.has_plugin("mine")
    with pytest.raises(PluginError, match=r"board is not a known target .*ort-vitis-mine 0.3.*ORT_VITIS_BLOCK"):
        quantize(manager, Target="board")
    with pytest.raises(PluginError, match="BoardSpeedLimit is not an option of any plugin that is here"):
        quantize(manager, BoardSpeedLimit=3)
    with pytest.raises(UnknownNameError, match="did you mean ipu_cnn"):
        quantize(manager, Target="ipu_cn")


def test_blocked_it_says_nothing(site: Path, quantize: Quantize, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_VITIS_BLOCK", "mine")
    install(site, BROKEN["import"][0])
    manager = new_manager()
    assert quantize(manager).model.graph.node
    with pytest.raises(MissingPluginError, match="ORT_VITIS_BLOCK leaves out mine, which may declare it"):
        quantize(manager, Target="board")


STEP = 'Target("board", "A board.", base="ipu_cnn")\n'


def test_calls_that_do_not_use_it_are_warned_once(site: Path, quantize: Quantize, model: onnx.ModelProto) -> None:
    catalog = Catalog(manager_of(site, TYPOS["target"][0] + DECLARED))
    with pytest.warns(PluginWarning) as caught:
        catalog.check_used(["cpu"], (), {})
    (warning,) = caught
    catalog.check_used(["cpu"], (), {})
    assert "did you mean ipu_cnn?" in str(warning.message)


def python(site: Path, code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{site}:{ROOT}:{ROOT / 'plugins'}", "PATH": ""},
    )


PLAIN = """
import sys, ort_vitis_plugin
from onnxruntime.quantization import quantize_static, QuantFormat
from onnxruntime.quantization.calibrate import CalibrationDataReader
import numpy as np
class Reader(CalibrationDataReader):
    def __init__(self): self.feeds = iter([{"x": np.ones((1, 4, 6, 6), np.float32)}] * 2)
    def get_next(self): return next(self.feeds, None)
from onnxruntime.quantization import CalibrationMethod
options = {"ActivationSymmetric": True, "CalibTensorRangeSymmetric": True, "CalibMovingAverage": True,
           "WeightSymmetric": True}
quantize_static("m.onnx", "q.onnx", Reader(), quant_format=QuantFormat.QDQ, extra_options=options)
options = {"CalibPercentile": 99.0, "CalibTensorRangeSymmetric": True}
quantize_static("m.onnx", "p.onnx", Reader(), calibrate_method=CalibrationMethod.Percentile, extra_options=options)
print("imported" if "ort_vitis_mine" in sys.modules else "untouched", "pluggy" in sys.modules)
"""


def test_plain_calls_touch_no_plugin(site: Path, model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site)
    onnx.save(model, site / "m.onnx")
    install(site, "raise RuntimeError('never')\n")
    answer = python(site, PLAIN, "-W", "error::UserWarning")
    assert (answer.returncode, answer.stdout.split()[-2:]) == (0, ["untouched", "False"])
    assert "never" not in answer.stderr


def test_the_command_line_lists_it_as_broken(site: Path) -> None:
    install(site, BROKEN["import"][0])
    answer = python(site, "from ort_vitis_plugin.cli.main import main; raise SystemExit(main(['plugins']))")
    assert answer.returncode == 0
    row = next(line for line in answer.stdout.splitlines() if "ort-vitis-mine 0.3" in line)
    assert "mine" in row
    assert "broken" in row
    assert "ModuleNotFoundError" in answer.stdout
