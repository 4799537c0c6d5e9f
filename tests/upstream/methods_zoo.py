"""Which definition of Entropy and Distribution is nearer to float on real networks: ours, onnxruntime's, the rejected.

``python -m tests.upstream.methods_zoo --zoo ZOO.py [NAME ...]`` measures networks of a zoo (``tests.zoo``) and puts
their rows into methods_zoo.md beside this file.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto
from onnxruntime.quantization.shape_inference import quant_pre_process

from tests.zoo.__main__ import zoo_at

from .methods_table import JUDGED, SAMPLES, Feeds, Row, by_rejected, by_them, by_us, heads

PAGE = Path(__file__).with_name("methods_zoo.md")
METHODS = ("Entropy", "Distribution")
# Small enough for two calls of each pipeline in a minute, and images, sound, text and made-up graphs among them.
SMALL = (
    *("digits_cnn", "fmnist_resnet", "fmnist_mnv2", "fmnist_mnv2_skew", "fmnist_mnv2_relu", "fmnist_vit", "sr_espcn"),
    *("ppocr_cls", "mtcnn_pnet", "mtcnn_rnet", "mtcnn_onet", "oww_embedding", "swift_f0", "silero_vad_seq"),
    *("syn_loop", "syn_edges"),
)
ABOUT = f"""\
# Ranges of Entropy and Distribution on networks of the zoo

Written by `python -m tests.upstream.methods_zoo --zoo ZOO.py [NAME ...]` (networks as in `tests/zoo/README.md`): SQNR
in dB of int8 activations and weights, of the output that has least: onnxruntime's own code, then ours; up to {SAMPLES}
samples calibrate, up to {JUDGED} others judge. Both get the network as onnxruntime's preprocessing leaves it. The last
three columns are definitions that were not taken, as in `methods.md`. Where theirs fails it raises.
"""


def prepared(path: str) -> ModelProto:
    """As onnxruntime's preprocessing leaves it, or, where that fails, as it is."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prepared.onnx"
        try:
            quant_pre_process(path, str(file), skip_symbolic_shape=True)
        except Exception:  # whatever its optimizer and shape inference raise
            return onnx.load(path)
        return onnx.load(file)


def parted(feeds: Feeds) -> tuple[Feeds, Feeds]:
    """Samples that calibrate and others that judge, both from all over the list."""
    return feeds[::2][:SAMPLES], feeds[1::2][:JUDGED]


def or_nan(work: Callable[..., float], *arguments: Any) -> float:
    """What a tool of others gives, NaN where it raises."""
    try:
        return work(*arguments)
    except Exception:
        return math.nan


def row(name: str, case: Any, methods: Iterable[str] = METHODS) -> Row:
    """One network, measured on samples that calibrated nothing."""
    measured = (prepared(str(case.path)), *parted(case.calib))
    pairs = {method: (or_nan(by_them, *measured, method), by_us(*measured, method)) for method in methods}
    return Row(name, pairs, by_rejected(*measured))


def page(lines: Sequence[str]) -> str:
    """methods_zoo.md with these rows."""
    return "\n".join((ABOUT, *heads(METHODS), *lines)) + "\n"


def rows_of(path: Path) -> dict[str, str]:
    """The rows that a page has, by network."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    return {name: line for name, line in found.items() if name != "network"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write each row as soon as it is known."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.upstream.methods_zoo", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: the small ones)")
    parser.add_argument("--zoo", type=Path, required=True, help="the zoo's Python file")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args(arguments)
    zoo = zoo_at(given.zoo)
    lines = rows_of(given.page)
    for name in given.names or SMALL:
        lines[name] = row(name, getattr(zoo, f"load_{name}")()).line
        given.page.write_text(page(list(lines.values())), encoding="utf-8")
        sys.stdout.write(f"{lines[name]}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
