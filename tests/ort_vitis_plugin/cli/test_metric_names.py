"""A metric is named, or is a function of a file; what is neither is told before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.metric_names import metric_named
from ort_vitis_plugin.errors import CalibrationError


def test_names_and_functions(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def score(session):\n    return 2.0\n", encoding="utf-8")
    assert metric_named("sqnr") == "sqnr"
    assert metric_named(f"{file}:score")(None) == 2.0


@pytest.mark.parametrize("text", ["{}:scare", "nowhere.py:score"])
def test_a_function_that_is_not_there_is_told(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def score(session):\n    return 2.0\n", encoding="utf-8")
    with pytest.raises(CalibrationError, match=r"did you mean score|nowhere.py.* does not exist"):
        metric_named(text.format(file))
