"""Flags are saved to a file and read back, and a file serves every verb."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.configuration import keywords_of
from ort_vitis_plugin.cli.main import main
from tests.ort_vitis_plugin.cli.commands import run


def test_a_configuration_is_saved_and_read(demo: Path) -> None:
    flags = "--preset A16W8 --exclude op:Gemm --option CLESteps=2 --cle --data samples.npz --samples 4 --per-channel"
    assert main(["quantize", "digits.onnx", "-o", "a.onnx", "-q", *flags.split(), "--save-config", "c.toml"]) == 0
    text = (demo / "c.toml").read_text()
    for line in ('preset = "A16W8"', 'nodes_to_exclude = ["op:Gemm"]', "CLESteps = 2", 'data = "samples.npz"'):
        assert line in text
    assert run("quantize digits.onnx -o b.onnx -q --config c.toml") == 0
    assert (demo / "a.onnx").read_bytes() == (demo / "b.onnx").read_bytes()
    assert run("quantize digits.onnx -o b.onnx -q --config c.toml --preset A16W16") == 0
    assert (demo / "a.onnx").read_bytes() != (demo / "b.onnx").read_bytes()


WRONG_FILES = {
    "\nper_chanel = true": "c.toml, line 2: per_chanel is unknown; expected one of activation_type, calibrate_method, ",
    'per_channel = "yes"': "c.toml, line 1: per_channel takes true or false, not 'yes'",
    "[extra_options]\nCLEStep = 1": "c.toml, line 2: [extra_options] CLEStep is unknown; ",
    "[samples]\ndate = 'x'": "c.toml, line 2: [samples] date is unknown; expected one of broken, color, ",
    "preset = ": "c.toml, line 1: Invalid value (at end of document)",
}


@pytest.mark.parametrize("text", WRONG_FILES)
def test_a_configuration_is_spoken_of_by_its_own_keys(
    text: str, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (demo / "c.toml").write_text(text)
    before = sorted(demo.rglob("*"))
    assert run("quantize digits.onnx -o n.onnx --config c.toml --data samples.npz") == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert WRONG_FILES[text] in shown.err
    assert "--" not in shown.err
    assert sorted(demo.rglob("*")) == before


def test_a_configuration_that_names_its_models_serves_every_verb(demo: Path) -> None:
    Path("c.toml").write_text('model_input = "none.onnx"\nmodel_output = "none.onnx"\n', encoding="utf-8")
    assert run("quantize digits.onnx -o q.onnx --data samples.npz --samples 2 -q --config c.toml") == 0
    assert run("calibrate digits.onnx -o c.npz --data samples.npz --samples 2 --config c.toml") == 0
    assert run("errors digits.onnx q.onnx --data samples.npz --samples 2 -q --config c.toml") == 0
    assert run("explain-tensor digits.onnx logits --data samples.npz --samples 2 -q --config c.toml") == 0
    assert not Path("none.onnx").exists()


def test_a_preset_is_an_option_that_others_win_over() -> None:
    said = {"preset": "A16W8", "samples": {"data": "x.npz"}, "model_input": "m.onnx", "per_channel": True}
    assert keywords_of(said) == {"per_channel": True, "extra_options": {"Preset": "A16W8"}}
    assert keywords_of({**said, "extra_options": {"Preset": "BF16"}})["extra_options"] == {"Preset": "BF16"}
