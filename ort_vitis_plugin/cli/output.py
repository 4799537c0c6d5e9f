"""Results go to stdout, as tables or as JSON; whatever else is said goes to stderr."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from ..report.json_data import json_data

if TYPE_CHECKING:
    from collections.abc import Iterable

STDOUT = "-"


@dataclass(frozen=True)
class Output:
    """Where a verb puts its results: ``json`` is a file or '-' for stdout, which then holds nothing else.

    ``stdout`` stays what it was while the verb's other words are sent elsewhere.
    """

    json: str | None = None
    quiet: bool = False
    stdout: TextIO = field(default_factory=lambda: sys.stdout)

    @property
    def shows(self) -> bool:
        """Whether tables and lines are wanted."""
        return not self.quiet and self.json != STDOUT

    def print(self, shown: Any) -> None:
        """Draw a table, or write a line as it is."""
        if not self.shows:
            return
        from ..report.tables import wide_console

        if isinstance(shown, str):
            wide_console().print(shown, highlight=False, markup=False, soft_wrap=True)
        else:
            wide_console().print(shown)

    def table(
        self, title: str, headings: Iterable[str], rows: Iterable[Iterable[object]], limit: int | None = None
    ) -> None:
        """Draw a table; headings that start with '#' are of numbers."""
        if self.shows:
            from ..report.tables import table

            self.print(table(title, headings, rows, limit=limit))

    def data(self, found: Any) -> None:
        """The same results for programs, where ``--json`` asks for them.

        Raises:
            OutputError: the file cannot be written.
        """
        if self.json is None:
            return
        text = json.dumps(json_data(found), indent=1, ensure_ascii=False)
        if self.json == STDOUT:
            print(text, file=self.stdout)
            return
        from ..onnx_io.whole_file import write_text

        write_text(self.json, text + "\n")
