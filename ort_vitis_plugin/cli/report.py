"""``ort-vitis report``: one page of HTML on what a model becomes, to look at in a browser."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .output import Output
from .verb import verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ort_vitis_plugin import Result


@verb(
    "report",
    examples=(
        "ort-vitis report digits.onnx -o digits.html --data samples.npz --preset ipu_cnn",
        "ort-vitis report digits.onnx -o digits.html --data samples.npz --config t.toml --trials t.trials.jsonl",
    ),
)
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", metavar="FILE", required=True, help="The page to write.")
@data_options(required=True)
@click.option("--trials", metavar="FILE", help="Trials that `ort-vitis tune` wrote, to show too.")
@configuration_options
def report_verb(out: Output, model: str, output: str, trials: str | None, **flags: Any) -> None:
    """Quantize, and draw a page: verdict, layers, distributions, the graph and what was decided.

    No model is written. `--json` gives the page's data.
    """
    from ort_vitis_plugin.entry.quantize_static import quantize_static

    need_jinja2()
    found = said(flags)
    keywords = keywords_of(found)
    rows = [] if trials is None else _rows_of(Path(trials))
    reader = data_reader(flags, found.get("samples"))
    result = quantize_static(model, None, reader, **keywords)
    out.data(write_page(out, output, model, result, reader, keywords, rows))


def need_jinja2() -> None:
    """Refuse before any work where no page can be drawn.

    Raises:
        UnsupportedError: jinja2 is not installed (the extra ``[report]``).
    """
    from importlib.util import find_spec

    from ort_vitis_plugin.errors import UnsupportedError

    if find_spec("jinja2") is None:
        raise UnsupportedError("a report in HTML needs jinja2: pip install 'ort-vitis-plugin[report]'")


def write_page(
    out: Output,
    file: str,
    model: str,
    result: Result,
    reader: Any,
    keywords: Mapping[str, Any],
    trials: list[dict[str, Any]],
) -> dict[str, Any]:
    """Gather, draw, write; returns the data of the page."""
    from ort_vitis_plugin.entry.report_data import report_data
    from ort_vitis_plugin.onnx_io.whole_file import write_text
    from ort_vitis_plugin.report.page import page

    data = report_data(model, result, reader, trials, **keywords)
    write_text(file, page(data, f"{Path(model).name}, quantized"))
    out.print(f"written: {file}")
    return data


def _rows_of(path: Path) -> list[dict[str, Any]]:
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.trials.trial_file import lines_of

    try:
        rows = lines_of(path)
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"--trials {str(path)!r} is no file of `ort-vitis tune`: {error}") from error
    if not rows or "version" not in rows[0]:
        raise OptionError(f"--trials {str(path)!r} is no file of `ort-vitis tune`: its first line is no head of one")
    return [row for row in rows if "what" in row]
