"""The file of ranges has a companion; the call that reads both gives the bytes of the call that wrote them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.pipeline.range_companion import companion_of
from tests.models import networks

if TYPE_CHECKING:
    from pathlib import Path

    from ort_vitis_plugin.report.report import Result


def call(path: Path, *, reader: bool = True, **options: object) -> Result:
    asked: dict[str, Any] = {"Target": "cpu", "CalibrationCachePath": str(path), "SelfCheck": False}
    asked = {"BiasCorrection": True, **asked, **options}
    return quantize_static(
        networks.network("digits"),
        None,
        networks.reader("digits", 16) if reader else None,
        quant_format=QuantFormat.QDQ,
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        extra_options=asked,
    )


def test_the_next_call_needs_no_samples_and_gives_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    first = call(path)
    assert first.report.transforms["BiasCorrection"] > 0
    assert companion_of(path).exists()
    second = call(path, reader=False)
    assert second.model.SerializeToString() == first.model.SerializeToString()


def test_who_may_read_the_ranges_may_read_their_companion(tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    call(path)
    assert companion_of(path).stat().st_mode == path.stat().st_mode
    assert sorted(tmp_path.iterdir()) == [path, companion_of(path)]


@pytest.mark.parametrize("damage", ["gone", "of other ranges", "of another call", "an archive that nobody unpacks"])
def test_without_its_companion_weights_are_the_methods_and_the_report_says_so(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ranges.json"
    call(path)
    if damage == "gone":
        companion_of(path).unlink()
    elif damage == "of other ranges":
        path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    elif damage == "an archive that nobody unpacks":
        archive = companion_of(path).read_bytes()
        method = re.compile(rb"(PK\x01\x02.{6})..", re.DOTALL)  # of compression, in the archive's directory
        companion_of(path).write_bytes(method.sub(lambda found: found[1] + b"\x63\x00", archive))
    other = {"QuantizeBias": True} if damage == "of another call" else {}
    second = call(path, reader=False, **other)
    plain = call(tmp_path / "plain.json", Recipe="plain", BiasCorrection=False)
    for result in (second, plain):
        del result.model.metadata_props[:]  # tells how each was asked for
    assert second.model.SerializeToString() == plain.model.SerializeToString()
    assert any("has no companion" in note for note in second.report.notes)
