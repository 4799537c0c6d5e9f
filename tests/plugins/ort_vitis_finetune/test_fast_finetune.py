"""Quark's keys are understood, said to mean nothing, or refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_finetune import HESSIAN, ONLY_BIAS, FinetuneSettings
from ort_vitis_finetune.fast_finetune import WITHOUT_MEANING, FastFinetune, check_installed, fast_finetune
from ort_vitis_plugin.api import OptionError, UnsupportedError, WeightRounding


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


def kept(problem: Any, parameters: Any) -> Any:
    return problem.start, problem.start_bias


def test_an_algorithm_of_a_plugin_reads_its_own_parameters_and_no_others(caplog: pytest.LogCaptureFixture) -> None:
    own = WeightRounding(
        "Mine", "", lambda problem, parameters: (problem.start, None), {"NumIterations": 5, "Pull": 0.5}
    )
    found = fast_finetune({"NumIterations": 7, "OptimAlgorithm": "mine", "BatchSize": 3, "WeightBits": 3}, [own])
    assert found.rounding is own
    assert (found.settings.rounding, found.settings.weight_bits) == ("Mine", 3)
    assert dict(found.settings.parameters) == {"NumIterations": 7, "Pull": 0.5}
    assert "BatchSize does nothing" in caplog.text
    assert "NumIterations does nothing" not in caplog.text
    for value in (0, 1.5, True):
        with pytest.raises(OptionError, match="NumIterations takes a whole number of at least 1"):
            fast_finetune({"OptimAlgorithm": "mine", "NumIterations": value}, [own])
    for wrong in (0, "fast"):
        with pytest.raises(OptionError, match="Pull takes a number above 0"):
            fast_finetune({"OptimAlgorithm": "mine", "Pull": wrong}, [own])


def test_what_is_not_installed_is_named_and_so_is_what_works_without() -> None:
    check_installed(FastFinetune())
    away = WeightRounding(
        "adaround", "", lambda problem, parameters: (problem.start, None), {}, lambda: "pip install x"
    )
    with pytest.raises(UnsupportedError, match="adaround: pip install x; OptimAlgorithm=hessian needs nothing"):
        check_installed(fast_finetune({"OptimAlgorithm": "AdaRound"}, [away]))
    with pytest.raises(UnsupportedError, match="plugin ort_vitis_torch, which ORT_VITIS_BLOCK leaves out"):
        check_installed(fast_finetune({"OptimAlgorithm": "adaquant"}))
