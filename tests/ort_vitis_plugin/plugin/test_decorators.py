"""What a decorator makes of a function: its key, its first line, and its switch."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_plugin.api import Stage, adjuster, fusion, leave_float, transform
from ort_vitis_plugin.plugin.decorators import documentation


def rule(*arguments: Any) -> Any:
    """What users read.

    What they do not.
    """


@pytest.mark.parametrize(
    ("declare", "default"),
    [
        (transform("Mine", stage=Stage.PREPARE), True),
        (transform("Mine", stage=Stage.PREPARE, default=False), False),
        (transform("Mine", stage=Stage.PREPARE, default=None), None),
        (leave_float("Mine", stage=Stage.PREPARE), True),
        (adjuster("Mine", ops=("Conv",)), True),
        (fusion("Mine", producers=("Conv",), consumers=("Relu",)), None),
        (fusion("Mine", producers=("Conv",), consumers=("Relu",), default=False), False),
    ],
)
def test_the_first_line_documents_and_the_key_switches(declare: Any, default: bool | None) -> None:
    made = declare(rule)
    assert (made.key, made.doc) == ("Mine", "What users read.")
    if default is None:
        assert made.option is None
    else:
        assert (made.option.key, made.option.default, made.option.doc) == ("Mine", default, "What users read.")


def test_without_docstrings_the_source_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under python -OO."""
    monkeypatch.setattr(rule, "__doc__", None)
    assert documentation(rule).startswith("What users read.")
