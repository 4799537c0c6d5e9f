"""Trains a pre-norm transformer that reads a digit as eight rows of eight pixels.

LayerNormalization, Softmax, Erf (inside GELU) and MatMul with both one and two computed inputs.
`python -m tests.models.train_transformer` needs torch and scikit-learn.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from ort_vitis_plugin.demo.train import accuracy, export, fit, repeatable, split

TOKENS, WIDTH, HEADS, BLOCKS = 8, 32, 4, 2


class Attention(nn.Module):  # type: ignore[misc]
    """softmax(q k' / sqrt(d)) v, per head."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.reshape(-1, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        weights = (q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(-1, TOKENS, WIDTH))


class Block(nn.Module):  # type: ignore[misc]
    """Attention and a two-layer perceptron, each behind a LayerNormalization and around a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(), nn.Linear(3 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.perceptron(self.norm2(x))


class Transformer(nn.Module):  # type: ignore[misc]
    """Rows in, logits out, the mean over rows between."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, WIDTH)
        self.position = nn.Parameter(torch.randn(1, TOKENS, WIDTH) * 0.1)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.embed(image.reshape(-1, TOKENS, 8)) + self.position
        return self.head(self.norm(self.blocks(x)).mean(1))


def main() -> None:
    repeatable()
    training, _, evaluation = split()
    net = Transformer()
    fit(net, training, epochs=60, rate=3e-3)
    path = Path(__file__).with_name("transformer.onnx")
    export(net, path, {"image": torch.zeros(1, 1, 8, 8)}, keep_batch_norm=False)
    print(f"accuracy on unseen digits: {accuracy(net, evaluation):.1%}")


if __name__ == "__main__":
    main()
