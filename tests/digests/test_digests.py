"""Digests: the same call gives the same one, another call another one, an error its words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from tests.digests import cases
from tests.digests.__main__ import differences
from tests.digests.digest import digest, file_name

if TYPE_CHECKING:
    from pathlib import Path

    from tests.digests.case import Case


def _case(key: str) -> Case:
    return next(case for case in (*cases.of_networks(), *cases.of_doors()) if case.key == key)


def test_a_call_repeats_its_digest_and_another_has_another(tmp_path: Path) -> None:
    case, other = _case("digits: NPU"), _case("digits: NPU, s8s8")
    found = digest(case, tmp_path)
    assert found == digest(case)
    assert found != digest(other)
    onnx.checker.check_model(onnx.load(tmp_path / file_name(case.key)))


def test_external_data_counts_as_part_of_the_model() -> None:
    assert digest(_case("digits: external data")) == digest(_case("digits: NPU"))


def test_an_error_is_its_type_and_first_line() -> None:
    assert digest(_case("digits: per channel on the NPU")).startswith("UnsupportedError: target ipu_cnn")


def test_every_call_has_a_key_and_a_file_of_its_own() -> None:
    keys = [case.key for case in cases.default()]
    assert len(keys) > 3000
    assert len({file_name(key) for key in keys}) == len(keys)


def test_what_differs_is_new_or_is_missing() -> None:
    assert differences({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == [
        "differs  b\n           2\n           4",
        "missing  c",
        "new      d",
    ]
