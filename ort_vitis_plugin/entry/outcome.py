"""Whoever calls, at any door, learns how near the result is to float: by a warning, a log record, a file, and here."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AccuracyWarning
from ..onnx_io.whole_file import write_text

if TYPE_CHECKING:
    from ..report.report import Report

logger = logging.getLogger(__name__)
_last: list[Report] = []


def last_report() -> Report | None:
    """The report of the call that this process answered last, at whatever door; None before the first."""
    return _last[-1] if _last else None


def tell(report: Report, path: str | Path | None = None) -> None:
    """Keep the report, write it to ``path``, log the verdict, and warn where the result is bad.

    What was measured on random data is no reason to warn: such samples resemble none that the model was made for.

    Raises:
        OutputError: the file cannot be written.
    """
    _last[:] = [report]
    if path is not None:
        write_text(path, report.to_json() + "\n")
    where = ", on random data" if report.random_data else ""
    measured = ", ".join(f"{name} {value:.1f} dB" for name, value in report.sqnr.items()) or "not measured"
    counts = f"{len(report.quantized)} nodes quantized, {len(report.left_float)} left float"
    if report.objections and not report.random_data:
        told = "; ".join(f"output {name}: {why}" for name, why in report.objections.items())
        logger.warning("the quantized model is bad: %s (%s)", told, counts)
        warnings.warn(
            f"the quantized model is bad: {told}; last_report() and `ort-vitis errors` say where it comes from",
            AccuracyWarning,
            stacklevel=5,
        )
    elif not report.quantized and not report.types:
        logger.warning("nothing was quantized: %s", "; ".join(report.notes))
    else:
        logger.info("against float%s: %s (%s)", where, measured, counts)
