"""One request from either door: precedence, contradictions, and when a call of onnxruntime's is ours."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import onnx
import pluggy
import pytest
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ort_vitis_plugin.api import Target, hookimpl
from ort_vitis_plugin.entry.arguments import is_ours
from ort_vitis_plugin.errors import OptionError, OptionTypeError, UnknownNameError, UnsupportedError
from ort_vitis_plugin.options.request import Request, merged_options, names
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.request.call import Call
from ort_vitis_plugin.request.settings import Settings, settings_of

PLAIN: dict[str, Any] = {
    "model_input": "m.onnx",
    "model_output": "q.onnx",
    "calibration_data_reader": None,
    "quant_format": QuantFormat.QDQ,
    "calibrate_method": CalibrationMethod.MinMax,
    "activation_type": QuantType.QInt8,
    "weight_type": QuantType.QInt8,
    "extra_options": None,
}

NOT_OURS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "QOperator and types": {"quant_format": QuantFormat.QOperator, "activation_type": QuantType.QUInt16},
    "ORT's options": {"extra_options": {"AddQDQPairToWeight": True, "CalibPercentile": 99.9}},
    "keys that both know": {"extra_options": {"QuantizeBias": False, "WeightSymmetric": False}},
    "CalibTensorRangeSymmetric": {"extra_options": {"CalibTensorRangeSymmetric": True}},
    "an unknown key": {"extra_options": {"Zzz": 1}},
    "no dict": {"extra_options": [1]},
    "overrides of ORT": {"extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": QuantType.QInt16}]}}},
}

OURS: dict[str, dict[str, Any]] = {
    "a method": {"calibrate_method": PowerOfTwoMethod.MinMSE},
    "a format": {"quant_format": VitisQuantFormat.QDQ},
    "an activation type": {"activation_type": VitisQuantType.QInt16},
    "a weight type": {"weight_type": VitisQuantType.QBFloat16},
    "Target": {"extra_options": {"Target": "cpu"}},
    "EnableDPU": {"extra_options": {"EnableDPU": True}},
    "an option of a plugin": {"extra_options": {"MinMSEMode": "All"}},
    "a rule's switch": {"extra_options": {"AdjustShiftCut": False}},
    "an alias": {"extra_options": {"NPULimitationCheck": True}},
    "a type in the overrides": {
        "extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": VitisQuantType.QInt16}]}}
    },
}


@pytest.mark.parametrize("changes", NOT_OURS.values(), ids=NOT_OURS.keys())
def test_a_plain_call_is_not_ours(changes: dict[str, Any]) -> None:
    assert not is_ours({**PLAIN, **changes})


@pytest.mark.parametrize("changes", OURS.values(), ids=OURS.keys())
def test_a_call_is_ours(changes: dict[str, Any]) -> None:
    assert is_ours({**PLAIN, **changes})


BASE = Request(
    model="m.onnx",
    output=None,
    reader=None,
    quant_format=QuantFormat.QDQ,
    calibrate_method=CalibrationMethod.MinMax,
    activation_type=QuantType.QInt8,
    weight_type=QuantType.QInt8,
)
ALL_DEFAULT = frozenset({"quant_format", "calibrate_method", "activation_type", "weight_type"})


def settings_from(plugins: pluggy.PluginManager, request: Request) -> Settings:
    return settings_of(request, Catalog(plugins))


def test_target_presets_fill_what_was_left_at_its_default(plugins: pluggy.PluginManager) -> None:
    settings = settings_from(plugins, replace(BASE, given={"Target": "ipu_cnn"}, default=ALL_DEFAULT))
    assert settings.method.key is PowerOfTwoMethod.MinMSE
    assert settings.options["ActivationSymmetric"] is True
    assert settings.lineage == ["ipu_cnn"]


def test_the_caller_wins_over_presets(plugins: pluggy.PluginManager) -> None:
    given = {"Target": "ipu_transformer", "ActivationSymmetric": True}
    kept = frozenset({"quant_format"})
    request = replace(BASE, calibrate_method=CalibrationMethod.Percentile, given=given, default=kept)
    settings = settings_from(plugins, request)
    assert settings.method.key is CalibrationMethod.Percentile
    assert settings.options["ActivationSymmetric"] is True


def test_presets_win_over_declared_defaults_and_a_base_over_nothing(plugins: pluggy.PluginManager) -> None:
    board = Target(
        "board", "Mine.", base="ipu_cnn", defaults={"MinMSEMode": "MostCommon", "ActivationSymmetric": False}
    )

    @hookimpl
    def vitis_declare() -> list[Target]:
        return [board]

    plugins.register(SimpleNamespace(vitis_declare=vitis_declare), "mine")
    settings = settings_from(plugins, replace(BASE, given={"Target": "board"}, default=ALL_DEFAULT))
    assert settings.method.key is PowerOfTwoMethod.MinMSE  # the base's
    assert settings.options["MinMSEMode"] == "MostCommon"
    assert settings.options["ActivationSymmetric"] is False  # nearest first
    assert settings.options["WeightSymmetric"] is True


@pytest.mark.parametrize(
    ("given", "target"),
    [({}, "cpu"), ({"EnableDPU": True}, "ipu_cnn"), ({"EnableDPU": True, "Target": "ipu_cnn"}, "ipu_cnn")],
)
def test_enable_dpu_is_the_target_ipu_cnn(plugins: pluggy.PluginManager, given: dict[str, Any], target: str) -> None:
    assert settings_from(plugins, replace(BASE, given=given, default=ALL_DEFAULT)).target.name == target


CONTRADICTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "two targets": ({"EnableDPU": True, "Target": "cpu"}, OptionError, "give one of them"),
    "no such target": ({"Target": "ipu"}, UnknownNameError, "ipu is not a known target"),
    "a target that is no name": ({"Target": 3}, UnknownNameError, "takes the name of a target, not 3"),
    "an alias against its option": (
        {"IPULimitationCheck": True, "NPULimitationCheck": False},
        OptionError,
        "one option with two values",
    ),
    "a wrong type": ({"MinMSEMode": "Some"}, OptionTypeError, "MinMSEMode"),
    "a format that nobody has": ({"Format": "QDP"}, UnknownNameError, "QDP is not a known format"),
}


@pytest.mark.parametrize(("given", "error", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradictions(
    plugins: pluggy.PluginManager, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        settings_from(plugins, replace(BASE, given=given))


def test_names_as_text(plugins: pluggy.PluginManager) -> None:
    request = replace(
        BASE,
        quant_format="VitisQuantFormat.QDQ",
        calibrate_method="MinMSE",
        activation_type="QInt16",
        weight_type="QInt8",
    )
    settings = settings_from(plugins, request)
    assert settings.format.key is VitisQuantFormat.QDQ
    assert settings.method.key is PowerOfTwoMethod.MinMSE
    assert (str(settings.activation), str(settings.weight)) == ("QInt16", "QInt8")


def test_keys_reach_what_has_no_enum(plugins: pluggy.PluginManager) -> None:
    settings = settings_from(plugins, replace(BASE, given={"Format": "FixNeuron", "Method": "NonOverflow"}))
    assert (settings.format.key, settings.method.key) == (VitisQuantFormat.FixNeuron, PowerOfTwoMethod.NonOverflow)


def test_merged_options_refuse_two_values_and_copy() -> None:
    given: dict[str, object] = {"EnableDPU": True}
    merged = merged_options(given, {"IncludeCLE": True, "EnableDPU": True})
    assert merged == {"EnableDPU": True, "IncludeCLE": True}
    assert given == {"EnableDPU": True}
    with pytest.raises(OptionError, match="contradicts the argument's value False"):
        merged_options(given, {"EnableDPU": False})
    with pytest.raises(OptionTypeError, match="extra_options takes a dict"):
        merged_options([], {})
    assert merged_options(None, {}) == {}


@pytest.mark.parametrize("value", ["Conv", 3, {"a", 1}, [1]])
def test_lists_of_names_are_lists_of_names(value: object) -> None:
    with pytest.raises(OptionTypeError, match="nodes_to_exclude takes a list of names"):
        names(value, "nodes_to_exclude")


def test_lists_of_names() -> None:
    assert names(None, "x") == ()
    assert names(["a", "b"], "x") == names(("a", "b"), "x") == ("a", "b")


def test_plugins_may_change_a_request_or_veto(plugins: pluggy.PluginManager) -> None:
    class Mine:
        @hookimpl
        def vitis_configure(self, request: Request) -> Request | None:
            if request.reduce_range:
                raise UnsupportedError("not in this house")
            return request.with_options(MinMSEMode="MostCommon") if not request.given else None

    plugins.register(Mine(), "mine")
    assert settings_from(plugins, BASE).options["MinMSEMode"] == "MostCommon"
    assert settings_from(plugins, replace(BASE, given={"EnableSubgraph": True})).options["MinMSEMode"] == "All"
    with pytest.raises(UnsupportedError, match="not in this house"):
        settings_from(plugins, replace(BASE, reduce_range=True))


def test_plugins_see_each_others_changes(plugins: pluggy.PluginManager) -> None:
    class Adding:
        def __init__(self, **options: object) -> None:
            self.options = options

        @hookimpl
        def vitis_configure(self, request: Request) -> Request:
            return request.with_options(**self.options)

    plugins.register(Adding(MinMSEMode="MostCommon", IncludeCLE=False), "one")
    plugins.register(Adding(EnableSubgraph=True), "two")
    settings = settings_from(plugins, BASE)
    assert (settings.options["MinMSEMode"], settings.options["EnableSubgraph"]) == ("MostCommon", True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"op_types": ("Relu",)}, "op type not selected"),
        ({"nodes_to_quantize": ("other",)}, "not in nodes_to_quantize"),
        ({"nodes_to_exclude": ("c",)}, "in nodes_to_exclude"),
    ],
)
def test_refusal_says_why(plugins: pluggy.PluginManager, changes: dict[str, Any], reason: str | None) -> None:
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], name="c")
    assert Call.of(replace(BASE, **changes), Catalog(plugins)).refusal(node) == reason


def test_nothing_the_caller_passed_changes(graph: Callable[..., onnx.ModelProto], reader: Callable[..., Any]) -> None:
    import ort_vitis_plugin

    model = graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }")
    before = model.SerializeToString(deterministic=True)
    options: dict[str, Any] = {"Target": "cpu", "TensorQuantOverrides": {}}
    nodes: list[str] = []
    ort_vitis_plugin.quantize_static(
        model, None, reader(model), nodes_to_exclude=nodes, op_types_to_quantize=["Relu"], extra_options=options
    )
    assert model.SerializeToString(deterministic=True) == before
    assert options == {"Target": "cpu", "TensorQuantOverrides": {}}
    assert nodes == []
