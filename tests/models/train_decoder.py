"""Trains the decoder to say the next letter of sentences.

`python -m tests.models.train_decoder` needs torch; it writes ``decoder.npz``, its weights in half precision.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from tests.models import sentences
from tests.models.decoder import GATED, HEADS, LAYERS, SIZE, WIDTH, rotations

STEPS, ROWS, LENGTH = 1500, 32, 64


def fresh_weights() -> dict[str, torch.Tensor]:
    """Normal weights, norms of one."""
    torch.manual_seed(0)
    shapes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH)}
    shapes |= {"gate": (WIDTH, GATED), "up": (WIDTH, GATED), "down": (GATED, WIDTH)}
    weights = {"table": torch.randn(len(sentences.LETTERS), WIDTH) * 0.1, "norm": torch.ones(WIDTH)}
    for n in range(LAYERS):
        for name, shape in shapes.items():
            weights[f"{name}_weight{n}"] = torch.randn(shape) / shape[0] ** 0.5
        weights[f"norm_attention{n}"], weights[f"norm_gated{n}"] = torch.ones(WIDTH), torch.ones(WIDTH)
    return {name: value.requires_grad_() for name, value in weights.items()}


def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x over the root of its mean square, times a weight."""
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight


def forward(weights: dict[str, torch.Tensor], ids: torch.Tensor) -> torch.Tensor:
    """Logits of whole rows, as the model gives them without a cache."""
    cos, sin = (torch.from_numpy(each[: ids.shape[1]]) for each in rotations())

    def turned(x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    x = weights["table"][ids]
    for n in range(LAYERS):
        y = norm(x, weights[f"norm_attention{n}"])
        q, k, v = ((y @ weights[f"{name}_weight{n}"]).unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for name in "qkv")
        mixed = functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + mixed.transpose(1, 2).flatten(2) @ weights[f"o_weight{n}"]
        y = norm(x, weights[f"norm_gated{n}"])
        gated = functional.silu(y @ weights[f"gate_weight{n}"]) * (y @ weights[f"up_weight{n}"])
        x = x + gated @ weights[f"down_weight{n}"]
    return norm(x, weights["norm"]) @ weights["table"].T


def main() -> None:
    """Adam over random windows of text, then the weights."""
    weights = fresh_weights()
    letters = torch.from_numpy(sentences.text(0, 300_000))
    optimizer = torch.optim.AdamW(weights.values(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=STEPS)
    generator = torch.Generator().manual_seed(0)
    for step in range(STEPS):
        starts = torch.randint(len(letters) - LENGTH - 1, (ROWS,), generator=generator)
        rows = torch.stack([letters[start : start + LENGTH + 1] for start in starts])
        loss = functional.cross_entropy(forward(weights, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 250 == 0:
            print(f"step {step}: perplexity {loss.exp().item():.3f}", flush=True)
    arrays = {name: value.detach().numpy().astype(np.float16) for name, value in weights.items()}
    np.savez_compressed(Path(__file__).with_name("decoder.npz"), **arrays)


if __name__ == "__main__":
    main()
