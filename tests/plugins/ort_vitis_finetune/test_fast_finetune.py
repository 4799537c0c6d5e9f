"""Quark's keys are understood, said to mean nothing, or refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_finetune import HESSIAN, ONLY_BIAS, FinetuneSettings
from ort_vitis_finetune.fast_finetune import WITHOUT_MEANING, FastFinetune, fast_finetune, needs_torch
from ort_vitis_plugin.api import OptionError


def test_nothing_asked_is_the_default() -> None:
    assert fast_finetune({}) == FastFinetune()
    assert FastFinetune().settings == FinetuneSettings()


def test_known_keys_become_settings() -> None:
    options = {"OptimAlgorithm": "Hessian", "DataSize": 64, "FixedSeed": 3, "HeldOut": 0.5, "Columns": 100}
    found = fast_finetune({**options, "MemoryLimit": 0, "WidestLayer": 9, "KeepOnInterrupt": True, "ResultFile": "f"})
    assert (found.algorithm, found.samples, found.result_path) == ("hessian", 64, "f")
    assert found.settings == FinetuneSettings(HESSIAN, 100, 0.5, 3, 9, 0, True)
    assert fast_finetune({"OptimAlgorithm": "bias"}).settings.candidates == ONLY_BIAS


def test_keys_of_training_are_said_to_do_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert fast_finetune(dict.fromkeys(WITHOUT_MEANING, 1)) == FastFinetune()
    assert [key for key in WITHOUT_MEANING if f"{key} does nothing" not in caplog.text] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"NumIteration": 3}, "did you mean NumIterations"),
        ({"Wrong": 3}, "it has OptimAlgorithm"),
        ({"OptimAlgorithm": "sgd"}, "one of hessian, bias, adaround, adaquant"),
        ({"OptimAlgorithm": 3}, "one of hessian"),
        ({"DataSize": 0}, "at least 1"),
        ({"DataSize": True}, "whole number"),
        ({"HeldOut": 1.0}, "between 0 and 1"),
        ({"KeepOnInterrupt": 1}, "True or False"),
        ({"ResultFile": 3}, "the path of a file"),
        ({"ResultFile": ""}, "the path of a file"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        fast_finetune(options)


@pytest.mark.parametrize("name", ["adaround", "AdaQuant"])
def test_training_names_what_to_install(name: str) -> None:
    sentence = needs_torch(fast_finetune({"OptimAlgorithm": name}))
    assert sentence is not None
    assert "pip install" in sentence
    assert needs_torch(FastFinetune()) is None
