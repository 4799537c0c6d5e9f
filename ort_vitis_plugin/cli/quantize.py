"""``ort-vitis quantize``: the main job, from float models and samples to quantized files and closing tables."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .flag_names import as_typed
from .gates import MIN_SQNR, below
from .output import Output
from .report import need_jinja2, write_page
from .tune import SHORT_BUDGET, TARGET, show_search
from .verb import verb
from .verb_files import AUTO
from .whole_command import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ort_vitis_plugin import Result

EXAMPLES = (
    "ort-vitis quantize digits.onnx --data samples.npz --preset ipu_cnn",
    "ort-vitis quantize digits.onnx -o out.onnx --data pictures --preset A16W8",
    "ort-vitis quantize digits.onnx -o out.onnx --data samples.npz --exclude op:Gemm",
)


@verb("quantize", examples=EXAMPLES)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="The file to write, or a folder (default: MODEL.<preset>.onnx).",
)
@data_options(otherwise="without it one random sample calibrates, for trying out only")
@click.option("--calibration", metavar="FILE", panel="Samples", help="What `ort-vitis calibrate` wrote, for --data.")
@configuration_options
@click.option("--report", "html", metavar="FILE.html", panel="Output", help="Draw a page to look at in a browser.")
@click.option(
    MIN_SQNR,
    "min_sqnr",
    metavar="DB",
    type=float,
    panel="Gates",
    help="Exit with 3 where a part of an output is below.",
)
def quantize_verb(
    out: Output,
    models: tuple[str, ...],
    output: str | None,
    calibration: str | None,
    html: str | None,
    min_sqnr: float | None,
    **flags: Any,
) -> int:
    """Quantize float ONNX models with calibration samples.

    Raises:
        OptionError: one page is asked for several models.
    """
    from ort_vitis_plugin.errors import OptionError, QuantizationError
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    if html is not None:
        if len(models) > 1:
            raise OptionError("--report draws one model; give one, or write pages with `ort-vitis report`")
        need_jinja2()
    found = said(flags)
    keywords = keywords_of(found)
    preset = keywords["extra_options"].get("Preset")
    if preset == AUTO:
        return _automatic(out, models, output, data_reader(flags, found.get("samples")), keywords, min_sqnr)
    suffix = "quantized" if preset is None else shared_catalog().preset(preset).name
    files = {model: _output_of(model, output, suffix, several=len(models) > 1) for model in models}
    if len(set(files.values())) < len(files):
        raise OptionError(f"-o {output}: models of the same name become one file; write them one by one")
    if calibration is not None:
        from ort_vitis_plugin.calibration import Calibration

        keywords["calibration"] = Calibration.load(calibration)
    done: dict[str, Result] = {}
    failed: dict[str, QuantizationError] = {}
    for model, file in files.items():
        try:
            reader = data_reader(flags, found.get("samples"))
            done[model] = _quantized(out, model, file, reader, keywords)
            if html is not None:
                told_of = {key: value for key, value in keywords.items() if key != "calibration"}
                write_page(out, html, model, done[model], reader, told_of, [])
        except QuantizationError as error:
            if len(models) == 1:
                raise
            failed[model] = error
    reports = {model: result.report.as_dict() for model, result in done.items()}
    if len(models) == 1:
        out.data(reports[models[0]])
    else:
        out.data(reports | {model: {"error": str(error)} for model, error in failed.items()})
        _summary(out, files, done, failed)
    gate = below({f"{model}: {name}": db for model, each in done.items() for name, db in _measured(each)}, min_sqnr)
    return max(map(status_of, failed.values()), default=gate)


def _automatic(
    out: Output, models: tuple[str, ...], output: str | None, reader: Any, keywords: dict[str, Any], goal: float | None
) -> int:
    """A short search; ``--min-sqnr`` is its goal.

    Raises:
        OptionError: several models, or no samples.
    """
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.trials.tune import tune

    if len(models) > 1 or reader is None:
        raise OptionError(f"--preset {AUTO} tries configurations of one model on samples; give one model and --data")
    options = {key: value for key, value in keywords["extra_options"].items() if key != "Preset"}
    target = options.pop("Target", TARGET)
    file = _output_of(models[0], output, AUTO, several=False)
    search = {"target": target, "goal": goal, "budget": SHORT_BUDGET, "out": file}
    return show_search(out, tune(models[0], reader, **search, **{**keywords, "extra_options": options}), goal)


def _quantized(out: Output, model: str, file: Path, reader: Any, keywords: Mapping[str, Any]) -> Result:
    from ort_vitis_plugin.entry.quantize_static import quantize_static

    result = quantize_static(model, file, reader, **keywords)
    if out.shows:
        result.report.print()
        out.print(f"written: {result.path}")
    return result


def _measured(result: Result) -> Iterator[tuple[str, float]]:
    """Decibels of outputs, and of their parts: a part may be bad where the whole is not."""
    yield from result.report.sqnr.items()
    yield from ((each.name, each.decibels) for each in result.report.verdict.judgements)


def _output_of(model: str, output: str | None, suffix: str, *, several: bool) -> Path:
    """The file that a model becomes.

    Raises:
        OptionError: several models, and one file for them.
        OutputError: the folder cannot be made.
    """
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.onnx_io.whole_file import as_output_error, is_stream

    name = f"{Path(model).stem}.{suffix}.onnx"
    if output is None:
        return Path(model).with_name(name)
    folder = Path(output)
    if several and not folder.is_dir():
        if folder.exists() or folder.suffix == ".onnx" or is_stream(output):
            raise OptionError(f"-o {output}: several models take a folder, which may be new")
        with as_output_error(folder):
            folder.mkdir(parents=True)
    return folder / name if several or folder.is_dir() else folder


def _summary(
    out: Output, files: Mapping[str, Path], done: Mapping[str, Result], failed: Mapping[str, Exception]
) -> None:
    rows = []
    for model, file in files.items():
        if model in failed:
            rows.append((model, "", "", as_typed(" ".join(str(failed[model]).split()))))
            continue
        report = done[model].report
        worst = f"{min(report.sqnr.values()):.1f} dB" if report.sqnr else ""
        rows.append((model, worst, f"{report.quantized_bytes / max(report.float_bytes, 1):.0%}", str(file)))
    out.table("Models", ("model", "#least SQNR", "#of float", "written, or why not"), rows)
