"""``ort-vitis run``: a script of an older package runs unchanged, and finds its names here."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import rich_click as click

from .output import Output
from .verb import verb


@verb(
    "run",
    examples=("ort-vitis run old_script.py --data pictures",),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", metavar="OLD_SCRIPT.py")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def run_verb(out: Output, script: str, arguments: tuple[str, ...]) -> int:
    """Run a script that imports vai_q_onnx or another package whose names are served here.

    The names are there for this process and those that it starts; nothing is installed.

    Raises:
        ModelNotFoundError: there is no such script.
    """
    from ort_vitis_plugin import compat
    from ort_vitis_plugin.errors import ModelNotFoundError

    file = Path(script)
    if not file.is_file():
        raise ModelNotFoundError(f"the script {script!r} does not exist")
    compat.install(*compat.served_packages())
    before, argv, path = dict(os.environ), sys.argv, list(sys.path)
    os.environ.update(compat.environment_of_children())
    sys.argv = [script, *arguments]
    sys.path[0:0] = [str(file.resolve().parent)]
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        sys.argv, sys.path[:] = argv, path
        os.environ.clear()
        os.environ.update(before)
        compat.uninstall()
    return 0
