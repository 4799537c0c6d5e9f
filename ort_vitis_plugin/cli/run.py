"""``ort-vitis run``: a script of others, with onnxruntime's quantize_static answered by us where it asks for us."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import rich_click as click

from .output import Output
from .verb import verb


@verb(
    "run",
    examples=("ort-vitis run old_script.py --data pictures", "ort-vitis run --names vai_q_onnx -m tool --flag"),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--names",
    metavar="PACKAGE",
    multiple=True,
    help="An older package whose names shall be there; repeatable (default: all that are not installed).",
)
@click.option("-m", "--module", is_flag=True, help="SCRIPT names a module, as in python -m.")
@click.argument("script", metavar="SCRIPT")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def run_verb(out: Output, names: tuple[str, ...], module: bool, script: str, arguments: tuple[str, ...]) -> int:
    """Run a Python script with ort_vitis_plugin imported; its exit status is ours.

    What it and the processes that it starts import of onnxruntime.quantization understands our formats, methods, types
    and options. Names of vai_q_onnx and other older packages are there too; nothing is installed.

    Raises:
        ModelNotFoundError: there is no such script.
    """
    from importlib.util import find_spec
    from pathlib import Path

    from ort_vitis_plugin.compat import served_packages
    from ort_vitis_plugin.compat.client import run_client
    from ort_vitis_plugin.errors import ModelNotFoundError

    if not module and not Path(script).exists():
        raise ModelNotFoundError(f"the script {script!r} does not exist")
    start = ["-m", script] if module else [script]
    return run_client([*start, *arguments], names or [name for name in served_packages() if find_spec(name) is None])
