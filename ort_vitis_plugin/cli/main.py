"""``ort-vitis``: the command line. A failure of ours is one line on stderr and exit status 1, Ctrl-C is 130."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from .. import __version__
from ..errors import AccuracyWarning, QuantizationError, RandomDataWarning
from ..options.options import OptionWarning
from . import calibrate, catalogue, convert, demo, docs, dump, errors, evaluate, fix_shape, forecast, quantize

VERBS = (quantize, demo, evaluate, errors, calibrate, forecast, fix_shape, dump, catalogue, convert, docs)


def parser() -> argparse.ArgumentParser:
    """All verbs and their arguments."""
    top = argparse.ArgumentParser(prog="ort-vitis", description="Quantize ONNX models for AMD NPUs.")
    top.add_argument("--version", action="version", version=f"ort-vitis-plugin {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True)
    for module in VERBS:
        module.add(verbs)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Answer one command; returns the exit status."""
    arguments = parser().parse_args(argv)
    with warnings.catch_warnings():
        for category in (OptionWarning, AccuracyWarning, RandomDataWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        try:
            return int(arguments.run(arguments))
        except QuantizationError as error:
            print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("interrupted: nothing was written", file=sys.stderr)
            return 130
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)
