"""A preset fills what the caller left alone, at every door; what is given wins."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization
import pytest
from onnx import ModelProto

from ort_vitis_plugin import PowerOfTwoMethod, quantize_static
from ort_vitis_plugin.api import Configuration, Declaration, Preset, QuantType, Target, hookimpl, settings_for
from ort_vitis_plugin.errors import PluginError, UnknownNameError
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import check_plugin, graph, random_feeds

MINE = Preset(
    "mine",
    "Everything that a preset can say.",
    arguments={
        "activation_type": "QUInt8",
        "weight_type": "QInt8",
        "calibrate_method": "Percentile",
        "per_channel": True,
    },
    recipe={"Target": "board", "CalibPercentile": 99.5, "NPULimitationCheck": False},
)


class Plugin:
    """One board and its preset."""

    def __init__(self, *declarations: Declaration) -> None:
        self.declarations = declarations

    @hookimpl
    def vitis_declare(self) -> list[Declaration]:
        return list(self.declarations)


def configured(*declarations: Declaration, **arguments: Any) -> Configuration:
    manager = new_manager(entry_points=False)
    manager.register(Plugin(*declarations), "mine")
    return settings_for(plugins=manager, **arguments)


BOARD = Target("board", "Mine.", defaults={"activation_type": "QInt8", "ActivationSymmetric": True})


def told(settings: Any) -> tuple[object, ...]:
    names = settings.target.name, settings.method.key.name, str(settings.activation), settings.request.per_channel
    return *names, settings.options["CalibPercentile"], settings.options["IPULimitationCheck"]


def test_it_fills_arguments_and_options() -> None:
    settings = configured(BOARD, MINE, extra_options={"Preset": "mine"})
    assert told(settings) == ("board", "Percentile", "QUInt8", True, 99.5, False)
    assert settings.options["ActivationSymmetric"] is True  # the target's own default


GIVEN: dict[str, tuple[dict[str, Any], dict[str, object], int, object]] = {
    "a method": ({"calibrate_method": PowerOfTwoMethod.NonOverflow}, {}, 1, "NonOverflow"),
    "a type": ({"activation_type": QuantType.QInt16}, {}, 2, "QInt16"),
    "a target": ({}, {"Target": "cpu"}, 0, "cpu"),
    "an option": ({}, {"CalibPercentile": 90.0}, 4, 90.0),
    "an option by its other name": ({}, {"IPULimitationCheck": True}, 5, True),
}


@pytest.mark.parametrize(("arguments", "options", "at", "value"), GIVEN.values(), ids=GIVEN)
def test_what_is_given_wins(arguments: dict[str, Any], options: dict[str, object], at: int, value: object) -> None:
    settings = configured(BOARD, MINE, **arguments, extra_options={"Preset": "mine", **options})
    expected = ["board", "Percentile", "QUInt8", True, 99.5, False]
    expected[at] = value
    assert told(settings) == tuple(expected)


def test_a_target_is_its_own_preset() -> None:
    settings = configured(BOARD, extra_options={"Preset": "board"})
    assert settings.lineage == ["board"]
    assert str(settings.activation) == "QInt8"


REFUSED: dict[str, tuple[object, type[Exception], str]] = {
    "nobody's": ("min", UnknownNameError, "min is not a known preset .*mine"),
    "no name": (3, UnknownNameError, "Preset takes the name of a preset, not 3"),
    "with an argument that is an option": ("wrong", PluginError, "preset wrong sets include_cle"),
}


@pytest.mark.parametrize(("name", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(name: object, error: type[Exception], message: str) -> None:
    wrong = Preset("wrong", "Wrong.", arguments={"include_cle": True})
    with pytest.raises(error, match=message):
        configured(BOARD, MINE, wrong, extra_options={"Preset": name})


def network() -> ModelProto:
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    return graph("t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { y = Conv(x, w) }", 17, {"w": weights})


class Reader:
    """One sample, as onnxruntime reads it."""

    def __init__(self) -> None:
        self.left = [random_feeds(network())]

    def get_next(self) -> Any:
        return self.left.pop() if self.left else None


def test_both_doors_and_the_long_form_give_one_model(tmp_path: Any) -> None:
    path = tmp_path / "out.onnx"
    onnxruntime.quantization.quantize_static(network(), path, Reader(), extra_options={"Preset": "ipu_cnn"})
    ours = quantize_static(network(), None, Reader(), extra_options={"Preset": "ipu_cnn"}).model
    long = quantize_static(
        network(),
        None,
        Reader(),
        calibrate_method=PowerOfTwoMethod.MinMSE,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        extra_options={"Target": "ipu_cnn"},
    ).model
    theirs = onnx.load(path)
    assert ours.graph == long.graph == theirs.graph


def test_check_plugin_knows_presets() -> None:
    assert check_plugin(Plugin(BOARD, MINE)) == [BOARD, MINE]
