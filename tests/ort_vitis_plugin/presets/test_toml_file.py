"""A TOML file is a call: it reads back as what it was written from, and a wrong line is named."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

import ort_vitis_plugin
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.errors import ConfigurationError
from ort_vitis_plugin.presets.toml_file import from_file, load_config, read, toml

SAID = {
    "preset": "A16W8",
    "per_channel": True,
    "nodes_to_exclude": ["/head/*", 'a "quoted" \\ name'],
    "extra_options": {"CLESteps": -1, "CalibPercentile": 99.5, "FixShapes": {"input": [1, 3, 8, 8], "N": 1}},
    "samples": {"samples": 4, "mean": [0.5], "layout": "NCHW"},
}


def test_written_and_read_again_it_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(toml(SAID), encoding="utf-8")
    assert read(tmp_path / "config.toml") == SAID


def test_paths_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    said = {"samples": {"data": "pictures", "preprocess": "mine.py:prepare"}}
    written = from_file(said, "sub/config.toml")
    assert written == {"samples": {"data": "../pictures", "preprocess": "../mine.py:prepare"}}
    Path("sub/config.toml").write_text(toml(written), encoding="utf-8")
    assert {Path(path).resolve() for path in read("sub/config.toml")["samples"].values()} == {
        tmp_path / "pictures",
        tmp_path / "mine.py:prepare",
    }


def test_a_call_takes_it(tmp_path: Path) -> None:
    import numpy as np

    arrays = np.concatenate([feed[data.INPUT] for feed in data.evaluation_feeds(4)])
    np.save(tmp_path / "samples.npy", arrays)
    (tmp_path / "config.toml").write_text(
        'preset = "xint8"\n[extra_options]\nSelfCheck = false\n[samples]\ndata = "samples.npy"\nsamples = 2\n',
        encoding="utf-8",
    )
    keywords = load_config(tmp_path / "config.toml")
    assert keywords["extra_options"] == {"Preset": "xint8", "SelfCheck": False}
    assert len(keywords["calibration_data_reader"]) == 2
    result = ort_vitis_plugin.quantize_static(
        data.model_path(), None, **ort_vitis_plugin.load_config(tmp_path / "config.toml")
    )
    assert result.report.configuration["target"] == "ipu_cnn"


WRONG = {
    "no TOML": ("preset = \n", "line 1"),
    "half of TOML": ('preset = "cpu"\nmethod =', r"line 2: Invalid value \(at end of document\)"),
    "an unknown argument": ('preset = "cpu"\nper_chanel = true\n', r"line 2: per_chanel is unknown.*mean per_channel"),
    "an unknown option": ("[extra_options]\n\nCLEStep = 1\n", r"line 3: \[extra_options\] CLEStep.*mean CLESteps"),
    "an unknown flag": ("[samples]\nsize = 3\n", r"line 2: \[samples\] size is unknown; expected one of broken"),
    "a wrong type": ('\nper_channel = "yes"\n', "line 2: per_channel takes true or false, not 'yes'"),
    "a wrong type of an option": (
        "[extra_options]\nCLESteps = 1.5\n",
        "line 2: .*CLESteps takes a whole number, not 1.5",
    ),
    "a table that is none": ("extra_options = 3\n", "line 1: extra_options takes a table, not 3"),
    "a name for a list": ('nodes_to_exclude = "a"\n', "takes a list of texts, not 'a'"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_named_with_what_is_expected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        load_config(tmp_path / "wrong.toml")


def test_no_file() -> None:
    with pytest.raises(ConfigurationError, match=r"'none\.toml' cannot be read"):
        load_config("none.toml")
