"""What a user decides about fine-tuning; every number has a default that was measured or is a limit of memory."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

from .candidates import HESSIAN


@dataclass(frozen=True)
class FinetuneSettings:
    """How layers are rounded.

    ``candidates`` are tried for each layer. ``columns`` limits how many outputs of a layer are looked at, over all
    samples. A share ``held_out`` of the samples judges and is not learned from. ``seed`` draws both. Layers with more
    than ``widest`` weights per output have their bias corrected alone. ``memory`` is how many bytes of waiting tensors
    stay out of files. With ``keep_on_interrupt`` Ctrl-C ends the work and keeps the layers done. ``rounding`` is the
    key of the WeightRounding that goes on from the best candidate, with its ``parameters``. Weights of two dimensions
    or more keep to the codes of ``weight_bits``, where these are fewer than their type's (0: all of them).
    """

    candidates: tuple[str, ...] = HESSIAN
    columns: int = 16384
    held_out: float = 0.25
    seed: int = 0
    widest: int = 8192
    memory: int = 2 << 30
    keep_on_interrupt: bool = False
    rounding: str = ""
    parameters: tuple[tuple[str, float], ...] = ()
    weight_bits: int = 0
