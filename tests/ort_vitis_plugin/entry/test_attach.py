"""Attaching swaps two code objects of ORT, tells our calls from ORT's, and leaves no trace."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib
import inspect
import logging
import pickle
import subprocess
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import onnx
import pytest

# Bound before anything attaches, as in a user's script.
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    StaticQuantConfig,
    quantize,
    quantize_static,
)
from onnxruntime.quantization.calibrate import create_calibrator

from ort_vitis_plugin.entry.attach import attach, attach_on_import, attached, detach, is_attached, original
from ort_vitis_plugin.errors import AttachError
from ort_vitis_plugin.testing import graph

Call = Mapping[str, object]
MODULE = sys.modules["ort_vitis_plugin.entry.attach"]


class OurMethod(Enum):
    """A calibration method that ORT does not know."""

    Ours = 1


@pytest.fixture(autouse=True)
def plain_ort() -> Iterator[None]:
    """ORT as it is without us, before the test; attached or not as before, after it."""
    was = is_attached()
    detach()
    yield
    detach()
    assert not is_attached()
    if was:
        attach()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Call]]:
    """What reaches our side, with stand-ins for the decision and for the pipeline."""
    seen: list[tuple[str, Call]] = []
    request = types.ModuleType("ort_vitis_plugin.entry.arguments")
    quantize = types.ModuleType("ort_vitis_plugin.entry.quantize_static")
    setattr(request, "is_ours", lambda call: isinstance(call["calibrate_method"], OurMethod))  # noqa: B010
    setattr(quantize, "quantize_from_ort", lambda call: seen.append(("quantize", call)))  # noqa: B010
    setattr(quantize, "calibrator_from_ort", lambda call: seen.append(("calibrator", call)))  # noqa: B010
    monkeypatch.setitem(sys.modules, "ort_vitis_plugin.entry.arguments", request)
    monkeypatch.setitem(sys.modules, "ort_vitis_plugin.entry.quantize_static", quantize)
    return seen


# What must not change.


@pytest.mark.parametrize("function", [quantize_static, create_calibrator])
def test_the_function_looks_the_same(function: Callable[..., object]) -> None:
    def looks() -> dict[str, object]:
        return {
            "signature": inspect.signature(function),
            "defaults": function.__defaults__,
            "doc": function.__doc__,
            "name": (function.__module__, function.__qualname__),
            "code name": (function.__code__.co_name, function.__code__.co_qualname),
            "source": inspect.getsource(function),
            "pickled": pickle.loads(pickle.dumps(function)) is function,
            "globals": list(function.__globals__),
            "attributes": dict(vars(function)),
        }

    before = looks()
    with attached():
        assert looks() == before
    assert looks() == before


def test_errors_of_a_wrong_call_are_the_same() -> None:
    def message() -> str:
        with pytest.raises(TypeError) as raised:
            quantize_static("model.onnx", surely_not_an_argument=1)
        return str(raised.value)

    plain = message()
    with attached():
        assert message() == plain
    assert message() == plain


def test_code_is_the_very_same_object_afterwards() -> None:
    codes = quantize_static.__code__, create_calibrator.__code__
    attach()
    assert quantize_static.__code__ is not codes[0]
    assert create_calibrator.__code__ is not codes[1]
    detach()
    assert (quantize_static.__code__, create_calibrator.__code__) == codes
    assert quantize_static.__code__ is codes[0]
    assert create_calibrator.__code__ is codes[1]


def test_plain_call_reaches_ort_with_all_arguments(calls: list[tuple[str, Call]]) -> None:
    with attached(), pytest.raises(Exception, match=r"missing\.onnx"):  # whose type differs between releases
        quantize_static("missing.onnx", "out.onnx", None, extra_options={"ActivationSymmetric": True})
    assert not calls


def test_without_us_ort_refuses_our_method(tmp_path: Path, calls: list[tuple[str, Call]]) -> None:
    def refused() -> None:
        with pytest.raises(ValueError, match="Unsupported calibration method"):
            create_calibrator(tmp_path / "m.onnx", calibrate_method=OurMethod.Ours)

    refused()
    with attached():
        create_calibrator(tmp_path / "m.onnx", calibrate_method=OurMethod.Ours)
    refused()
    assert [door for door, _ in calls] == ["calibrator"]


def test_logging_warnings_and_registries_are_left_alone() -> None:
    registry = importlib.import_module("onnxruntime.quantization.registry")

    def state() -> list[object]:
        tables = [dict(value) for name, value in vars(registry).items() if name.endswith("Registry")]
        enums = [list(enum) for enum in (QuantFormat, QuantType, CalibrationMethod)]
        log = logging.getLogger()
        return [tables, enums, list(log.handlers), log.level, list(warnings.filters), sorted(vars(logging))]

    before = state()
    with attached():
        assert state() == before


def test_attaching_imports_nothing_heavy() -> None:
    code = (
        "import onnxruntime.quantization, sys, types\n"
        "package = types.ModuleType('ort_vitis_plugin')\n"
        f"package.__path__ = [{str(Path(str(MODULE.__file__)).parents[1])!r}]\n"
        "sys.modules['ort_vitis_plugin'] = package\n"  # what attach.py itself costs, whatever __init__ imports
        "before = set(sys.modules)\n"
        "from ort_vitis_plugin.entry.attach import attach\n"
        "attach()\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    ours = {"ort_vitis_plugin.entry", "ort_vitis_plugin.entry.attach", "ort_vitis_plugin.errors"}
    assert set(printed.split()) <= ours | {"difflib", "heapq", "_heapq"}


def test_a_plain_call_costs_nothing_that_one_could_measure(calls: list[tuple[str, Call]]) -> None:
    def seconds() -> float:
        best = 1.0
        for _ in range(5):
            start = time.process_time()
            for _ in range(200):
                with pytest.raises(ValueError, match="Unsupported"):
                    create_calibrator("m.onnx", calibrate_method=None)
            best = min(best, (time.process_time() - start) / 200)
        return best

    # The cheapest call there is: MinMaxCalibrater is never built, the call only raises.
    plain = seconds()
    with attached():
        routed = seconds()
    assert routed - plain < 1e-4


# What must.


def test_names_bound_before_reach_us(calls: list[tuple[str, Call]]) -> None:
    with attached():
        result = quantize_static("in.onnx", "out.onnx", None, calibrate_method=OurMethod.Ours, per_channel=True)
    assert result is None
    ((door, call),) = calls
    assert door == "quantize"
    assert call["model_input"] == "in.onnx"
    assert call["model_output"] == "out.onnx"
    assert call["per_channel"] is True
    assert call["quant_format"] is QuantFormat.QDQ
    assert list(call) == list(inspect.signature(quantize_static).parameters)


def test_static_quant_config_reaches_us(calls: list[tuple[str, Call]]) -> None:
    config = StaticQuantConfig(None, calibrate_method=OurMethod.Ours, extra_options={"Some": 1})
    with attached():
        quantize("in.onnx", "out.onnx", config)
    ((door, call),) = calls
    assert (door, call["extra_options"]) == ("quantize", {"Some": 1})


def test_original_is_ort_even_while_attached(calls: list[tuple[str, Call]]) -> None:
    with attached():
        plain = original(create_calibrator)
        assert inspect.signature(plain).parameters.keys() == inspect.signature(create_calibrator).parameters.keys()
        with pytest.raises(ValueError, match="Unsupported calibration method"):
            plain("m.onnx", calibrate_method=OurMethod.Ours)
    assert not calls
    assert original(create_calibrator).__code__ is create_calibrator.__code__


def test_attach_and_detach_twice_are_as_once() -> None:
    attach()
    code = quantize_static.__code__
    attach()
    assert quantize_static.__code__ is code
    detach()
    assert not is_attached()
    detach()
    assert not is_attached()


def test_blocks_nest() -> None:
    with attached():
        with attached():
            assert is_attached()
        assert is_attached()
        detach()
        assert is_attached(), "a block keeps what it promises"
    assert not is_attached()
    attach()
    with attached():
        pass
    assert is_attached(), "a block leaves things as they were"


def test_a_block_that_raises_ends(calls: list[tuple[str, Call]]) -> None:
    with pytest.raises(KeyError), attached():
        raise KeyError
    assert not is_attached()


@pytest.mark.parametrize(("value", "expected"), [("0", False), ("1", True), (None, True)])
def test_environment_opts_out(monkeypatch: pytest.MonkeyPatch, value: str | None, expected: bool) -> None:
    monkeypatch.delenv("ORT_VITIS_ATTACH", raising=False)
    if value is not None:
        monkeypatch.setenv("ORT_VITIS_ATTACH", value)
    attach_on_import()
    assert is_attached() is expected


def test_code_replaced_by_another_tool_stays(calls: list[tuple[str, Call]]) -> None:
    ours = create_calibrator.__code__
    attach()
    code, defaults = create_calibrator.__code__, create_calibrator.__defaults__
    below = types.FunctionType(code, create_calibrator.__globals__, argdefs=defaults)

    def another(*arguments: object, **named: object) -> object:
        return ("another", BELOW(*arguments, **named))  # type: ignore[name-defined]  # noqa: F821

    create_calibrator.__globals__["BELOW"] = below
    replaced = another.__code__
    create_calibrator.__code__ = replaced
    try:
        assert create_calibrator("m", calibrate_method=OurMethod.Ours) == ("another", None)
        with pytest.warns(RuntimeWarning, match="another tool has replaced the code of .*create_calibrator"):
            detach()
        assert create_calibrator.__code__ is replaced
        assert not is_attached()
        with pytest.raises(ValueError, match="Unsupported calibration method"):
            create_calibrator("m", calibrate_method=OurMethod.Ours)
    finally:
        create_calibrator.__code__ = ours
        del create_calibrator.__globals__["BELOW"]


def _closure() -> Callable[..., object]:
    inner = quantize_static
    return lambda *arguments, **named: inner(*arguments, **named)


def _other_parameters(model_input: object, model_output: object) -> None: ...


def _other_body(  # the parameters of quantize_static, nothing of its body
    model_input: object, model_output: object, calibration_data_reader: object, quant_format: object,
    op_types_to_quantize: object, per_channel: object, reduce_range: object, activation_type: object,
    weight_type: object, nodes_to_quantize: object, nodes_to_exclude: object, use_external_data_format: object,
    calibrate_method: object, extra_options: object,
) -> None: ...  # fmt: skip


def _var_keywords(**named: object) -> None: ...


@pytest.mark.parametrize(
    ("stranger", "reason"),
    [
        (_closure(), "closure"),
        (_other_parameters, "has no parameter .*weight_type"),
        (_other_body, "does not use .*QDQQuantizer"),
        (_var_keywords, "has no parameter"),
        (None, "not a Python function"),
        (int, "not a Python function"),
    ],
)
def test_an_ort_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch, stranger: object, reason: str) -> None:
    target = sys.modules["onnxruntime.quantization.quantize"]
    codes = quantize_static.__code__, create_calibrator.__code__
    monkeypatch.setattr(target, "quantize_static", stranger)
    with pytest.raises(AttachError, match=reason) as raised:
        attach()
    assert "call ort_vitis_plugin.quantize_static instead" in str(raised.value)
    with pytest.raises(AttachError), attached():
        pass
    with pytest.warns(RuntimeWarning, match=reason):
        attach_on_import()
    assert not is_attached()
    assert (quantize_static.__code__, create_calibrator.__code__) == codes
    monkeypatch.undo()
    attach()
    assert is_attached()


def test_a_reloaded_copy_takes_over(calls: list[tuple[str, Call]]) -> None:
    plain = quantize_static.__code__
    attach()
    spec = importlib.util.spec_from_file_location("ort_vitis_plugin.entry.attach", str(MODULE.__file__))
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy
    try:
        spec.loader.exec_module(copy)
        copy.attach()
        quantize_static("in", "out", None, calibrate_method=OurMethod.Ours)
        copy.detach()
        assert quantize_static.__code__ is plain
    finally:
        sys.modules[spec.name] = MODULE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            detach()
    assert len(calls) == 1


def test_a_reloaded_module_is_still_attached(calls: list[tuple[str, Call]]) -> None:
    plain = quantize_static.__code__
    attach()
    spec = importlib.util.spec_from_file_location("ort_vitis_plugin.entry.attach", str(MODULE.__file__))
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy
    try:
        spec.loader.exec_module(copy)
        assert copy.is_attached()
        quantize_static("in", "out", None, calibrate_method=OurMethod.Ours)
        copy.detach()
        assert quantize_static.__code__ is plain
    finally:
        sys.modules[spec.name] = MODULE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            detach()
    assert [door for door, _ in calls] == ["quantize"]


def test_who_attaches_during_a_call_of_onnxruntime_gives_it_no_calibrator_of_ours(
    calls: list[tuple[str, Call]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = sys.modules["onnxruntime.quantization.quantize"]
    model = graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }")
    onnx.save(model, tmp_path / "m.onnx")
    load = body.load_model_with_shape_infer

    def attaching(*arguments: Any) -> Any:
        attach()
        return load(*arguments)

    monkeypatch.setattr(body, "load_model_with_shape_infer", attaching)
    with pytest.raises(ValueError, match="Unsupported calibration method"):
        quantize_static(tmp_path / "m.onnx", tmp_path / "q.onnx", Given(), calibrate_method=OurMethod.Ours)
    assert is_attached()
    assert calls == []
    with pytest.raises(ValueError, match="Unsupported calibration method"):
        create_calibrator("m.onnx", calibrate_method="plain")
    create_calibrator("m.onnx", calibrate_method=OurMethod.Ours)
    assert [door for door, _ in calls] == ["calibrator"]


class Given(CalibrationDataReader):
    """One sample."""

    def get_next(self) -> Any:
        return None


def test_traceback_of_a_failing_call_can_be_printed(calls: list[tuple[str, Call]]) -> None:
    with attached():
        try:
            create_calibrator("m.onnx", calibrate_method="no such method")
        except ValueError:
            text = traceback.format_exc()
    assert text.count("in create_calibrator") == 2
    assert "Unsupported calibration method no such method" in text


def test_calls_in_threads_while_attaching_and_detaching(calls: list[tuple[str, Call]]) -> None:
    failures: list[BaseException] = []
    stop = threading.Event()

    def call_plain() -> None:
        try:
            while not stop.is_set():
                with pytest.raises(ValueError, match="Unsupported calibration method"):
                    create_calibrator("m.onnx", calibrate_method="plain")
        except BaseException as failure:
            failures.append(failure)

    def call_ours() -> None:
        try:
            while not stop.is_set():
                with attached():
                    quantize_static("in", "out", None, calibrate_method=OurMethod.Ours)
        except BaseException as failure:
            failures.append(failure)

    def toggle() -> None:
        while not stop.is_set():
            attach()
            detach()

    threads = [threading.Thread(target=target) for target in (call_plain, call_plain, call_ours, call_ours, toggle)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert calls
    assert all(door == "quantize" for door, _ in calls)
