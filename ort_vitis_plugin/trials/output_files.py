"""A search leaves two files beside its model: the configuration of the best, and the trials."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import OptionError, OutputError
from ..onnx_io.whole_file import is_stream


class OutputFiles(NamedTuple):
    """Their paths."""

    configuration: Path
    trials: Path

    def named(self) -> list[tuple[str, str | Path]]:
        """With what messages call them."""
        return [("the configuration of the best", self.configuration), ("the file of trials", self.trials)]

    def check(self) -> None:
        """A configuration that no search left is somebody's own.

        Raises:
            OutputError: so it is.
        """
        if self.configuration.exists() and not self.trials.exists():
            raise OutputError(
                f"{str(self.configuration)!r} would be replaced, but no search left it (there is no "
                f"{self.trials.name}); choose another output, or move it away"
            )


def output_files(out: str | Path) -> OutputFiles:
    """``net.toml`` and ``net.trials.jsonl`` of ``net.onnx``.

    Raises:
        OptionError: the model goes to standard output, which has nothing beside it.
    """
    if is_stream(out):
        raise OptionError(f"the output {str(out)!r}: configuration and trials lie beside the model; give a file name")
    return OutputFiles(Path(out).with_suffix(".toml"), Path(out).with_suffix(".trials.jsonl"))
