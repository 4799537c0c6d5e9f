"""A third-party plugin that is broken breaks its own users alone, and says whose it is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.errors import MissingPluginError, PluginError, PluginWarning, UnknownNameError, UnsupportedError
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import Manager, new_manager

ROOT = Path(__file__).parents[3]
CONV = "h = Conv<pads = [1, 1, 1, 1]>(x, w, b)"
MODEL = f"t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y) {{ {CONV} r = Relu(h) y = Add(r, x) }}"

HEADER = """
from ort_vitis_plugin.api import *
"""
DEVICE = """
@hookimpl
def vitis_declare():
    yield Target("board", "A board.", base="ipu_cnn")
"""
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


def install(folder: Path, source: str, name: str = "ort_vitis_mine") -> None:
    """A module and the dist-info that pip would write for it."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(f"[ort_vitis_plugin]\nmine = {name}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ort_vitis_mine", raising=False)
    yield tmp_path
    sys.modules.pop("ort_vitis_mine", None)


@pytest.fixture
def model(graph: Callable[..., onnx.ModelProto]) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((4, 4, 3, 3)).astype(np.float32)
    return graph(MODEL, constants={"w": weights, "b": np.zeros(4, np.float32)})


Quantize = Callable[..., Any]


@pytest.fixture
def quantize(model: onnx.ModelProto, reader: Callable[..., Any]) -> Quantize:
    def run(manager: Manager, **options: Any) -> Any:
        return ort_vitis_plugin.quantize_static(model, None, reader(model), extra_options=options, plugins=manager)

    return run


def manager_of(site: Path, source: str) -> Manager:
    install(site, HEADER + source)
    return new_manager()


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
# A function that fails, of a plugin that is there: what it declares, and what the error says.
FAILING = {
    "rule": (
        '@adjuster("MineRule", ops=("Conv",), target="board")\ndef rule(plan, node):\n    """R."""\n    yield 1 / 0\n',
        "rule of the Adjuster MineRule raised ZeroDivisionError",
    ),
    "rule of nonsense": (
        '@adjuster("MineRule", ops=("Conv",), target="board")\ndef rule(plan, node):\n    """R."""\n    yield 3\n',
        "rule of the Adjuster MineRule gave 3 among its bounds",
    ),
    "rule of a wrong signature": (
        '@adjuster("MineRule", ops=("Conv",), target="board")\ndef rule(plan):\n    """R."""\n    yield 3\n',
        "rule of the Adjuster MineRule raised TypeError",
    ),
    "transform": (
        '@transform("MineStep", stage=Stage.PREPARE, target="board")\ndef rule(g):\n    """R."""\n    g.nope()\n',
        "apply of the Transform MineStep raised AttributeError",
    ),
    "transform of nonsense": (
        '@transform("MineStep", stage=Stage.PREPARE, target="board")\ndef rule(graph, context):\n    """R."""\n',
        "apply of the Transform MineStep gave None, not the number of rewrites",
    ),
    "fusion": (
        '@fusion("MinePair", producers=("Relu",), consumers=("Add",), target="board")\n'
        'def rule(graph, one, other):\n    """R."""\n    raise KeyError("z")\n',
        "applies of the Fusion MinePair raised KeyError: 'z'",
    ),
    "handler": (
        "class Handler(QDQOperatorBase):\n    def quantize(self):\n        raise IndexError('i')\n"
        'rule = OpQuantizer("Conv", Handler, "board")\n',
        "quantize of Handler of the OpQuantizer ('Conv', 'board') raised IndexError: i",
    ),
}


@pytest.mark.parametrize(("source", "message"), FAILING.values(), ids=FAILING.keys())
def test_a_failing_function_breaks_the_users_of_its_plugin(
    site: Path, quantize: Quantize, source: str, message: str
) -> None:
    declared = '@hookimpl\ndef vitis_declare():\n    yield Target("board", "B.", base="ipu_cnn")\n    yield rule\n'
    manager = manager_of(site, source + declared)
    assert quantize(manager).model.graph.node
    assert quantize(manager, EnableDPU=True).model.graph.node
    with pytest.raises(PluginError) as caught:
        quantize(manager, Target="board")
    for fact in ("plugin mine (ort-vitis-mine 0.3)", message, "ORT_VITIS_BLOCK=mine leaves the plugin out"):
        assert fact in str(caught.value)
    assert (caught.value.__cause__ is None) == ("gave" in message)


HOOKS = {
    "configure": ("def vitis_configure(request):\n    return request.nope\n", "vitis_configure raised AttributeError"),
    "configure to nonsense": ("def vitis_configure(request):\n    return 3\n", "vitis_configure gave 3, not a Request"),
    "observer": ("def vitis_stage_done(stage):\n    raise OSError('full')\n", "vitis_stage_done raised OSError: full"),
}


@pytest.mark.parametrize(("source", "message"), HOOKS.values(), ids=HOOKS.keys())
def test_a_failing_hook_names_its_plugin(site: Path, quantize: Quantize, source: str, message: str) -> None:
    manager = manager_of(site, DEVICE + "@hookimpl\n" + source)
    for _ in range(2):
        with pytest.raises(PluginError, match=r"plugin mine \(ort-vitis-mine 0.3\)") as caught:
            quantize(manager)
        assert message in str(caught.value)


def test_a_veto_passes_as_it_is(site: Path, quantize: Quantize) -> None:
    veto = "@hookimpl\ndef vitis_configure(request):\n    raise UnsupportedError('not on Sundays')\n"
    with pytest.raises(UnsupportedError, match=r"^not on Sundays$"):
        quantize(manager_of(site, DEVICE + veto))


TYPOS = {
    "target": (
        '@adjuster("MineRule", ops=("Conv",), target="ipu_cn")\ndef rule(plan, node):\n    """R."""\n    yield\n',
        "target='ipu_cn' is no known target; did you mean ipu_cnn?",
    ),
    "base": ('rule = Target("other", "O.", base="ipu_cn")\n', "base='ipu_cn' is no known target"),
    "op type": (
        '@adjuster("MineRule", ops=("Convv",), target="board")\ndef rule(plan, node):\n    """R."""\n    yield\n',
        "'Convv' is no op type; did you mean Conv?",
    ),
    "case": (
        '@fusion("MinePair", producers=("CONV",), consumers=("Relu",))\ndef rule(g, a, b):\n    """R."""\n',
        "'CONV' is no op type; did you mean Conv?",
    ),
    "handled op type": ('rule = OpQuantizer("Gemmm", QDQOperatorBase)\n', "'Gemmm' is no op type; did you mean Gemm?"),
    "default": (
        'rule = Target("other", "O.", defaults={"ActivationSymetric": True})\n',
        "it sets 'ActivationSymetric', which is no option; did you mean ActivationSymmetric",
    ),
    "argument of a preset": (
        'rule = Preset("other", "O.", arguments={"quant_fromat": "QDQ"})\n',
        "it sets 'quant_fromat', which is no argument that a preset may set",
    ),
    "option of a preset": ('rule = Preset("other", "O.", recipe={"IncludCLE": True})\n', "did you mean IncludeCLE?"),
    "target of a preset": ('rule = Preset("other", "O.", recipe={"Target": "ipu_cn"})\n', "Target='ipu_cn'"),
    "order": (
        '@transform("MineStep", stage=Stage.PREPARE, target="board", before=("FoldBatchNrm",))\n'
        'def rule(g):\n    """R."""\n    return 0\n',
        "before names 'FoldBatchNrm', which is no step; did you mean FoldBatchNorm?",
    ),
    "switch": (
        '@adjuster("MineRule", ops=("Conv",), target="board", needs="IPULimitationChek")\n'
        'def rule(plan, node):\n    """R."""\n    yield\n',
        "option MineRule needs 'IPULimitationChek', which is no option; did you mean IPULimitationCheck",
    ),
}
DECLARED = '@hookimpl\ndef vitis_declare():\n    yield Target("board", "B.", base="ipu_cnn")\n    yield rule\n'


@pytest.mark.parametrize(("source", "message"), TYPOS.values(), ids=TYPOS.keys())
def test_a_misspelling_is_found(site: Path, quantize: Quantize, source: str, message: str) -> None:
    from ort_vitis_plugin.testing import check_plugin

    manager = manager_of(site, source + DECLARED)
    with pytest.raises(PluginError) as caught:
        quantize(manager, Target="board")
    assert message in str(caught.value)
    assert "plugin mine (ort-vitis-mine 0.3)" in str(caught.value)
    with pytest.raises(AssertionError) as flawed:
        check_plugin(sys.modules["ort_vitis_mine"])
    assert message in str(flawed.value)


def test_calls_that_do_not_use_it_are_warned_once(site: Path, quantize: Quantize, model: onnx.ModelProto) -> None:
    catalog = Catalog(manager_of(site, TYPOS["target"][0] + DECLARED))
    with pytest.warns(PluginWarning) as caught:
        catalog.check_used(["cpu"], (), {})
    (warning,) = caught
    catalog.check_used(["cpu"], (), {})
    assert "did you mean ipu_cnn?" in str(warning.message)


def test_new_op_types_are_none() -> None:
    from ort_vitis_plugin.api import Fusion
    from ort_vitis_plugin.plugin.flaws import Names, flaws_of

    names = Names(frozenset(), frozenset(), {})
    ops = frozenset({"QAttention", "FusedConv", "MyNewOp", "QuickGelu", "FixNeuron"})
    assert list(flaws_of(Fusion("Key", "Doc.", ops, ops, lambda graph, one, other: True), names)) == []


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
