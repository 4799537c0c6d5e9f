"""``ort-vitis``: the command line. A failure of ours is one line on stderr.

Exit status: 0 done; 1 it could not be done; 2 the call is wrong, and nothing was written; 3 a gate such as --min-sqnr
is not met; 130 interrupted; 141 nobody reads what it prints; 143 terminated.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import rich_click as click

from .. import __version__
from ..errors import ConfigurationError, QuantizationError
from ..foreign import is_of_caller
from . import (
    calibrate,
    catalogue,
    convert,
    demo,
    device_report,
    docs,
    dump,
    errors,
    evaluate,
    explain_tensor,
    fix_shape,
    forecast,
    info,
    quantize,
    report,
    run,
    tune,
)
from .completion import completion_verb
from .flag_names import as_typed
from .standard_streams import standard_streams
from .verb import STYLE, Verbs
from .whole_command import INTERRUPTED, WRONG, status_of

PANELS = {
    "Quantize": (
        quantize.quantize_verb,
        tune.tune_verb,
        calibrate.calibrate_verb,
        convert.preprocess_verb,
        fix_shape.fix_shape_verb,
        run.run_verb,
    ),
    "Look at the result": (
        evaluate.evaluate_verb,
        errors.errors_verb,
        report.report_verb,
        explain_tensor.explain_tensor_verb,
        info.info_verb,
        dump.dump_verb,
    ),
    "The device": (forecast.forecast_verb, device_report.device_report_verb),
    "Models": (convert.convert_verb,),
    "Find out": (
        catalogue.options_verb,
        catalogue.explain_verb,
        catalogue.plugins_verb,
        demo.demo_verb,
        docs.docs_verb,
        completion_verb,
    ),
}


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "rich_help_config": STYLE})
@click.version_option(__version__, prog_name="ort-vitis-plugin", message="%(prog)s %(version)s")
def ort_vitis() -> None:
    """Quantize ONNX models for AMD NPUs.

    `ort-vitis VERB --help` says what a verb does, with examples.
    """


for name, commands in PANELS.items():
    ort_vitis.add_panel(click.RichCommandPanel(name, commands=[str(command.name) for command in commands]))
    for command in commands:
        ort_vitis.add_command(command)
for command in convert.ALIASES:
    ort_vitis.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Answer one command; returns the exit status."""
    with standard_streams(), warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _show_warning
        try:
            answer: Any = ort_vitis.main(
                args=None if argv is None else list(argv), prog_name="ort-vitis", standalone_mode=False
            )
        except click.ClickException as error:
            hint = getattr(error, "ctx", None)
            _say(error.format_message(), f"; see {hint.command_path} --help" if hint is not None else "")
            return WRONG
        except (QuantizationError, Warning) as error:
            # A configuration names its keys as the file does.
            _say(str(error) if isinstance(error, ConfigurationError) else as_typed(str(error)))
            return status_of(error)
        except click.Abort:  # before a verb began
            print("interrupted: nothing was written", file=sys.stderr)
            return INTERRUPTED
        except Exception as error:
            if not is_of_caller(error):
                raise
            _say(_of_caller(error))
            return WRONG
    return answer if isinstance(answer, int) else 0


def _of_caller(error: Exception) -> str:
    """What a function of the user's raised, on what, and in which line."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    where = "; ".join(getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {error} ({frame.f_code.co_filename}, line {line}), {where}"


def _say(text: str, hint: str = "") -> None:
    print(f"error: {' '.join(text.split()).removesuffix('.')}{hint}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {as_typed(str(message))}", file=sys.stderr)
