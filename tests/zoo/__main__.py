"""``python -m tests.zoo --zoo ZOO.py [NAME ...]``: real networks in the recommended configurations, and their scores.

The zoo is a Python file with functions ``load_NAME() -> (path, calibration feeds, evaluate(session) -> score)``. Every
result passes the self-check. Scores are of sessions at basic optimization, which compute Q and DQ as written.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo import configurations
from tests.zoo.plain import METHODS, quantize_plainly
from tests.zoo.table import markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Score = Callable[[Any], float]
    Entry = dict[str, Any]


class Feeds:
    """A reader over feeds."""

    def __init__(self, feeds: list[dict[str, Any]]) -> None:
        self.feeds = feeds
        self.rewind()

    def __len__(self) -> int:
        return len(self.feeds)

    def rewind(self) -> None:
        self.rest = iter(self.feeds)

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


def zoo_at(path: Path) -> ModuleType:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location("zoo", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["zoo"] = module
    spec.loader.exec_module(module)
    return module


def ours(case: Any, arguments: dict[str, Any], keep: Path | None) -> Entry:
    """Quantize with our door, self-check included, and score."""
    start = time.perf_counter()
    result = quantize_static(case.path, keep, Feeds(case.calib), **arguments)
    seconds = time.perf_counter() - start
    report = result.report
    return {
        "score": case.evaluate(open_session(result.model, [custom_ops.register])),
        "seconds": round(seconds, 1),
        "sqnr": {name: round(value, 2) for name, value in report.sqnr.items()},
        "left_float": len(report.left_float),
        "violations": len(report.violations),
    }


def plain(case: Any, method: str) -> Entry:
    """Quantize with onnxruntime alone and score."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = quantize_plainly(case.path, Path(folder), Feeds(case.calib), method)
        seconds = time.perf_counter() - start
        model = onnx.load(path)
    return {"score": case.evaluate(open_session(model)), "seconds": round(seconds, 1)}


def attempt(work: Callable[[], Entry]) -> Entry:
    """The entry, or why there is none."""
    try:
        return work()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:400]}


def measure(zoo: ModuleType, name: str, arguments: argparse.Namespace) -> Entry:
    """One network in all its configurations."""
    case = getattr(zoo, f"load_{name}")()
    entry: Entry = {"float": case.evaluate(open_session(onnx.load(case.path)))}
    print(f"{name}: float {entry['float']:.4f}", flush=True)
    keep = arguments.keep
    for key, options in configurations.of(name, onnx.load(case.path), finetuned=arguments.finetuned).items():
        if arguments.only and key not in arguments.only:
            continue
        path = keep / f"{name}.{key.replace(', ', '_').replace(' ', '_')}.onnx" if keep else None
        entry[key] = attempt(lambda options=options, path=path: ours(case, options, path))  # type: ignore[misc]
        print(f"{name}: {key} {entry[key]}", flush=True)
    for method in METHODS if arguments.plain else ():
        entry[method] = attempt(lambda method=method: plain(case, method))  # type: ignore[misc]
        print(f"{name}: {method} {entry[method]}", flush=True)
    return entry


def main() -> int:
    """Measure, keep the numbers, print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks to run (default: all of the zoo)")
    parser.add_argument("--zoo", type=Path, help="the zoo's Python file; without it only the table is printed")
    parser.add_argument("--json", type=Path, help="file of the numbers: extended by this run")
    parser.add_argument("--only", action="append", help="run only this configuration (may be repeated)")
    parser.add_argument("--finetuned", action="store_true", help="run the fine-tuned configurations of CNNs too")
    parser.add_argument("--plain", action="store_true", help="run onnxruntime's own quantize_static too")
    parser.add_argument("--peer", type=Path, help="JSON of scores of other tools: {network: {tool: {score: ...}}}")
    parser.add_argument("--keep", type=Path, help="folder for the quantized models")
    arguments = parser.parse_args()
    numbers: dict[str, Entry] = {}
    if arguments.json and arguments.json.exists():
        numbers = json.loads(arguments.json.read_text())
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    if arguments.zoo:
        zoo = zoo_at(arguments.zoo)
        for name in arguments.names or zoo.NAMES:
            numbers.setdefault(name, {}).update(measure(zoo, name, arguments))
            if arguments.json:
                arguments.json.write_text(json.dumps(numbers, indent=1) + "\n")
    print(markdown(numbers, json.loads(arguments.peer.read_text()) if arguments.peer else {}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
