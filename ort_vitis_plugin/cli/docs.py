"""``ort-vitis docs``: the generated tables of the documentation, written from what the plugins declare."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import rich_click as click

from .output import Output
from .verb import verb


@verb("docs")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a table is stale.")
@click.option("--root", metavar="FOLDER", help="The source checkout (default: that of this package).")
def docs_verb(out: Output, check: bool, root: str | None) -> int:
    """Write the generated tables of the documentation (for developers)."""
    from ort_vitis_plugin.reference.pages import stale_blocks, write_blocks

    folder = Path(root) if root else Path(__file__).resolve().parents[2]
    names = stale_blocks(folder) if check else write_blocks(folder)
    for name in names:
        out.print(f"stale: {name}; run python -m ort_vitis_plugin docs" if check else f"written: {name}")
    out.data(names)
    return 1 if check and names else 0
