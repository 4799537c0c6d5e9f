"""Where each operator of a module would run on a device, and the line of the caller's code that it comes from."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ort_vitis_plugin.api import write_text

from . import host_calls
from .caller_line import caller_line
from .config import TARGETS
from .errors import ConfigError
from .exported import Exporter, export, unwrapped, watched_call
from .structure import as_arguments

CALLED = ("node", "op", "device", "source", "reason")


@dataclass(frozen=True)
class Line:
    """One node: ``device`` is DPU or CPU, ``reason`` why it is not the DPU, ``source`` file and line or ''."""

    node: str
    op_type: str
    device: str
    source: str
    reason: str


class Inspector:
    """``Inspector(target).inspect(model, inputs)``; the target is a name that ``torch_quantizer`` takes.

    Raises ConfigError for an unknown target, with the known ones.
    """

    def __init__(self, name_or_fingerprint: str = "AMD_AIE2_Nx4_Overlay_cfg0") -> None:
        if name_or_fingerprint not in TARGETS:
            raise ConfigError(f"target={name_or_fingerprint!r} is not known; the known ones are {', '.join(TARGETS)}")
        self.name, self._target = name_or_fingerprint, TARGETS[name_or_fingerprint]

    def inspect(
        self,
        module: nn.Module,
        input_args: Any,
        device: torch.device | str | None = None,
        output_dir: str | Path = "quantize_result",
        verbose_level: int = 1,
        image_format: str | None = None,
        *,
        exporter: Exporter = "auto",
    ) -> list[Line]:
        """Print the placement of every node, and write it to ``inspect_<target>.txt`` in ``output_dir``.

        ``input_args`` is a tensor or a tuple; shapes count, the batch too. ``verbose_level`` 0 prints nothing, 1 the
        nodes that stay off the device, 2 all. ``device`` is not used, and there are no pictures: ``image_format``
        must be None.
        """
        if image_format is not None:
            raise ConfigError(f"image_format={image_format!r}: there are no pictures; leave it out")
        module = unwrapped(module)
        arguments = as_arguments(input_args)
        exported = export(module, arguments, exporter=exporter, dynamic_batch=False)
        sources = _source_lines(module, arguments)
        lines = [
            Line(node, op_type, "DPU" if reason is None else "CPU", _source(node, sources, module), reason or "")
            for node, op_type, reason in host_calls.forecast(exported.model, self._target)
        ]
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"inspect_{self.name}.txt", _table(lines))
        if verbose_level > 0:
            shown = lines if verbose_level > 1 else [line for line in lines if line.device != "DPU"]
            sys.stdout.write(_table(shown))
        return lines


def _table(lines: Sequence[Line]) -> str:
    rows = [CALLED, *((line.node, line.op_type, line.device, line.source, line.reason) for line in lines)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(CALLED) - 1)]
    texts = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]]).rstrip()
        for row in rows
    ]
    return "\n".join(texts) + "\n"


def _source_lines(module: nn.Module, arguments: tuple[Any, ...]) -> dict[str, str]:
    """For every module that a call reaches, the line outside of torch and this package that called it."""
    found: dict[str, str] = {}

    def called(name: str) -> None:
        line = caller_line()
        if line:
            found.setdefault(name, line)

    watched_call(module, arguments, called)
    return found


def _source(node: str, sources: dict[str, str], module: nn.Module) -> str:
    """The call of the module that the node's name tells, or the ``forward`` in which a function makes the node.

    The exporter names nodes /part/part.of.it/Operator: the last part is the longest.
    """
    parts = node.strip("/").split("/")[:-1]
    known = dict(module.named_modules())
    for path in (".".join(parts), parts[-1] if parts else ""):
        if path in sources and not any(True for _ in known[path].children()):
            return sources[path]
    for path in (".".join(parts), parts[-1] if parts else "", ""):
        if path in known and not type(known[path]).__module__.startswith("torch."):
            return _forward(known[path])
    return ""


def _forward(module: nn.Module) -> str:
    try:
        _, line = inspect.getsourcelines(type(module).forward)
        return f"{os.path.relpath(inspect.getfile(type(module)))}:{line}"
    except (OSError, TypeError):
        return ""
