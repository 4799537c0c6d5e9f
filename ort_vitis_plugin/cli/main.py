"""``ort-vitis``: the command line. A failure of ours is one line on stderr and exit status 1, Ctrl-C is 130."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout

from .. import __version__
from ..entry.whole_call import told
from ..errors import AccuracyWarning, QuantizationError, RandomDataWarning
from ..foreign import ours_or_none
from ..onnx_io.signals import Terminated, termination_raises
from ..onnx_io.whole_file import written_files
from ..options.options import OptionWarning
from . import (
    calibrate,
    catalogue,
    convert,
    demo,
    docs,
    dump,
    errors,
    evaluate,
    explain_tensor,
    fix_shape,
    forecast,
    quantize,
    run,
)
from .verb_files import command_files

VERBS = (
    quantize,
    demo,
    evaluate,
    errors,
    explain_tensor,
    calibrate,
    forecast,
    fix_shape,
    dump,
    catalogue,
    convert,
    run,
    docs,
)


def parser() -> argparse.ArgumentParser:
    """All verbs and their arguments."""
    top = argparse.ArgumentParser(prog="ort-vitis", description="Quantize ONNX models for AMD NPUs.")
    top.add_argument("--version", action="version", version=f"ort-vitis-plugin {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True, dest="verb")
    for module in VERBS:
        module.add(verbs)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Answer one command; returns the exit status."""
    arguments = parser().parse_args(argv)
    with warnings.catch_warnings(), termination_raises(), written_files() as written:
        for category in (OptionWarning, AccuracyWarning, RandomDataWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        try:
            return _answer(arguments)
        except (QuantizationError, Warning) as error:  # warnings, where the caller makes errors of them
            print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f"interrupted: {told(written)}", file=sys.stderr)
            return 130
        except Terminated:
            print(f"terminated: {told(written)}", file=sys.stderr)
            return 143


def _answer(arguments: argparse.Namespace) -> int:
    """Run the verb, whose files are looked at first; where a file goes to standard output, all else goes to stderr."""
    with ours_or_none(f"ort-vitis {arguments.verb}"):
        try:
            files = command_files(arguments)
            files.check()
            with files.protected(), redirect_stdout(sys.stderr) if files.streamed else nullcontext():
                return int(arguments.run(arguments))
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
            return 141


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)
