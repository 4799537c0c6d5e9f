"""``ort-vitis completion``: what a shell needs to complete verbs and flags."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click
from click.shell_completion import get_completion_class

from .verb import verb

if TYPE_CHECKING:
    from .output import Output

SHELLS = ("bash", "zsh", "fish")


@verb("completion", examples=('eval "$(ort-vitis completion bash)"',))
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_verb(context: click.RichContext, out: Output, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(context.find_root().command, {}, "ort-vitis", "_ORT_VITIS_COMPLETE").source())
