"""``python -m tests.zoo.unseen --zoo ZOO.py NAME FILE ...``: is a file nearer to float on samples that taught it?

Energy of the error of the first output, less its mean over classes, as a share of float's: over the calibration samples
(``--taught START:STOP`` of them, and the others by themselves) and over what the zoo evaluates with.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo.__main__ import zoo_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnxruntime as ort


class Listener:
    """A session that remembers what it was fed."""

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        self.feeds: list[dict[str, Any]] = []

    def get_inputs(self) -> list[Any]:
        """The session's inputs."""
        return list(self._session.get_inputs())

    def run(self, names: list[str] | None, feed: dict[str, Any]) -> list[Any]:
        """The session's answer."""
        self.feeds.append(dict(feed))
        return list(self._session.run(names, feed))


def share(exact: ort.InferenceSession, session: ort.InferenceSession, feeds: Iterable[dict[str, Any]]) -> float:
    """The error's energy over these feeds as a share of float's."""
    error = energy = 0.0
    for feed in feeds:
        wanted, found = (np.asarray(each.run(None, feed)[0], np.float64) for each in (exact, session))
        wanted, found = (each - each.mean(axis=-1, keepdims=True) for each in (wanted, found))
        error += float(np.square(wanted - found).sum())
        energy += float(np.square(wanted).sum())
    return error / energy


def main() -> int:
    """Print one line for each file."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.unseen", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", metavar="NAME", help="a network of the zoo")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="quantized models of it")
    parser.add_argument("--zoo", type=Path, required=True, help="the zoo's Python file")
    parser.add_argument("--taught", default=":", help="START:STOP of the calibration samples (default: all)")
    arguments = parser.parse_args()
    case = getattr(zoo_at(arguments.zoo), f"load_{arguments.name}")()
    exact = open_session(onnx.load(case.path))
    start, stop = (int(part) if part else None for part in arguments.taught.split(":"))
    taught = range(len(case.calib))[start:stop]
    parts = {
        "taught": [case.calib[at] for at in taught],
        "other calibration samples": [feed for at, feed in enumerate(case.calib) if at not in taught],
    }
    for path in arguments.files:
        session = open_session(onnx.load(path), [custom_ops.register])
        listener = Listener(session)
        score = case.evaluate(listener)
        shares = {name: share(exact, session, feeds) for name, feeds in parts.items() if feeds}
        shares["evaluation"] = share(exact, session, listener.feeds)
        print(f"{path.name}: score {score:.4f}, " + ", ".join(f"{name} {of:.4f}" for name, of in shares.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
