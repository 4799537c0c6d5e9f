"""A search leaves two files beside its model: the configuration of the best, and the trials."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import OptionError
from ..onnx_io.whole_file import is_stream


class FilesBeside(NamedTuple):
    """Their paths."""

    configuration: Path
    trials: Path

    def named(self) -> list[tuple[str, str | Path]]:
        """With what messages call them."""
        return [("the configuration of the best", self.configuration), ("the file of trials", self.trials)]


def files_beside(out: str | Path) -> FilesBeside:
    """``net.toml`` and ``net.trials.jsonl`` of ``net.onnx``.

    Raises:
        OptionError: the model goes to standard output, which has nothing beside it.
    """
    if is_stream(out):
        raise OptionError(f"the output {str(out)!r}: configuration and trials lie beside the model; give a file name")
    return FilesBeside(Path(out).with_suffix(".toml"), Path(out).with_suffix(".trials.jsonl"))
