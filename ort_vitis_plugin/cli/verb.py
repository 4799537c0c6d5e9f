"""A verb is a command with examples, whose flags may take several words, and which answers with an exit status."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich_click as click

from ..errors import suggest
from .output import Output
from .whole_command import whole_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

OUTPUT, OUTPUT_FLAGS = "Output", 3
STYLE = click.RichHelpConfiguration(
    max_width=80,
    text_markup=None,
    style_options_panel_box="SIMPLE",
    style_commands_panel_box="SIMPLE",
    style_options_table_padding=(0, 1),
    padding_usage=0,
    padding_helptext=(1, 0, 0, 0),
)


class Verb(click.RichCommand):
    """A command whose repeatable flags take all words up to the next flag, a model aside."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write a flag before each of its words, as click reads them."""
        if ctx.allow_interspersed_args:  # else the words behind the first argument belong to another program
            several = {name for option in self.params if getattr(option, "multiple", False) for name in option.opts}
            args = list(_spread(args, several))
        return super().parse_args(ctx, args)


def _spread(words: Iterable[str], several: set[str]) -> Iterator[str]:
    """``--exclude A B`` is ``--exclude A --exclude B``; a word that names a model is not of the flag."""
    flag, is_first = "", False
    for word in words:
        if word.startswith("-") and word != "-" and not _is_number(word):
            flag, is_first = word if word in several else "", True
            yield word
        elif not flag or is_first:
            is_first = False
            yield word
        elif word.endswith(".onnx") or os.path.isfile(word):
            flag = ""
            yield word
        else:
            yield from (flag, word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


class Verbs(click.RichGroup):
    """All verbs; an unknown one names the nearest."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The verb that the first word names.

        Raises:
            UsageError: there is none.
        """
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            known = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
            hint = suggest(args[0], known) or f" ({', '.join(known)})"
            raise click.UsageError(f"there is no verb {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


def verb(
    name: str, *, examples: Iterable[str] = (), **settings: Any
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Declare a verb: its function takes an Output and what the flags say, and gives the exit status (None: 0)."""

    def declare(function: Callable[..., int | None]) -> click.Command:
        @functools.wraps(function)
        def answered(json_file: str | None, quiet: bool, verbose: int, **flags: Any) -> int:
            with _logged(verbose, quiet=quiet):
                out = Output(json_file, quiet)
                return whole_command(name, {**flags, "json": json_file}, lambda: function(out, **flags) or 0)

        lines = list(examples)
        text = settings.pop("help", None) or (inspect.getdoc(function) or "").partition("\n\nRaises:")[0]
        if lines:
            title = "Examples:" if len(lines) > 1 else "Example:"
            text += "\n\n\b\n" + "\n".join((title, *(f"  {line}" for line in lines)))
        command: click.Command = click.command(name, cls=Verb, help=text, **settings)(_output(answered))
        command.params = [*command.params[OUTPUT_FLAGS:], *command.params[:OUTPUT_FLAGS]]
        return command

    return declare


def _output(function: Callable[..., Any]) -> Callable[..., Any]:
    function = click.option("-v", "--verbose", count=True, metavar="", panel=OUTPUT, help="Log more; -vv all.")(
        function
    )
    function = click.option("-q", "--quiet", is_flag=True, panel=OUTPUT, help="Print no tables and no progress.")(
        function
    )
    return click.option(
        "--json",
        "json_file",
        metavar="FILE",
        panel=OUTPUT,
        help="Results as JSON too; '-' is stdout, and nothing else.",
    )(function)


@contextmanager
def _logged(verbose: int, *, quiet: bool) -> Iterator[None]:
    """Log records on stderr: progress where there is no terminal, more with -v."""
    log = logging.getLogger()
    before = log.level, os.environ.get("ORT_VITIS_PROGRESS")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s" if verbose < 2 else "%(name)s: %(message)s"))
    progress_alone = verbose == 0
    handler.addFilter(
        lambda record: (
            record.levelno >= logging.WARNING
            or (record.name.startswith("ort_vitis") and not (progress_alone and not record.name.endswith(".progress")))
        )
    )
    log.addHandler(handler)
    log.setLevel(logging.DEBUG if verbose > 1 else logging.WARNING if quiet and not verbose else logging.INFO)
    if quiet:
        os.environ["ORT_VITIS_PROGRESS"] = "0"
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        if quiet:
            os.environ.pop("ORT_VITIS_PROGRESS")
            os.environ.update({} if before[1] is None else {"ORT_VITIS_PROGRESS": before[1]})
