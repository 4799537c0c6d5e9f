"""Trains a network with two inputs, the halves of a digit, and the operators that preparation and simulation rewrite.

InstanceNormalization, LeakyRelu, PRelu, Sigmoid, HardSigmoid, Split, AveragePool with pads, ConvTranspose, ReduceMean.
`python -m tests.models.train_halves` needs torch and scikit-learn.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from ort_vitis_plugin.demo.train import accuracy, conv_block, export, fit, repeatable, split

WIDTH = 16


class Halves(nn.Module):  # type: ignore[misc]
    """A gated block, an hourglass with a skip, a squeeze-and-excite gate."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 2 * WIDTH, 3, padding=1), nn.InstanceNorm2d(2 * WIDTH, affine=True), nn.LeakyReLU(0.1)
        )
        self.content = nn.Sequential(*conv_block(WIDTH, WIDTH), nn.PReLU(WIDTH))
        self.gate = nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 1), nn.Sigmoid())
        self.down = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
        self.deep = nn.Sequential(*conv_block(WIDTH, 2 * WIDTH), nn.LeakyReLU(0.1))
        self.up = nn.Sequential(
            nn.ConvTranspose2d(2 * WIDTH, WIDTH, 2, stride=2), nn.BatchNorm2d(WIDTH), nn.PReLU(WIDTH)
        )
        self.squeeze = nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 1), nn.Hardsigmoid())
        self.last = nn.Sequential(nn.MaxPool2d(2), *conv_block(WIDTH, 2 * WIDTH), nn.ReLU())
        self.head = nn.Linear(2 * WIDTH, 10)

    def forward(self, top: torch.Tensor, bottom: torch.Tensor) -> torch.Tensor:
        content, gate = self.stem(torch.cat([top, bottom], 2)).split(WIDTH, 1)
        x = self.content(content) * self.gate(gate)
        x = x + self.up(self.deep(self.down(x)))
        x = x * self.squeeze(x.mean((2, 3), keepdim=True))
        return self.head(self.last(x).mean((2, 3)))


class Whole(nn.Module):  # type: ignore[misc]
    """Cuts a digit into the halves that the network reads."""

    def __init__(self, halves: Halves) -> None:
        super().__init__()
        self.halves = halves

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.halves(image[:, :, :4], image[:, :, 4:])


def main() -> None:
    repeatable()
    training, _, evaluation = split()
    net = Whole(Halves())
    fit(net, training)
    half = torch.zeros(1, 1, 4, 8)
    export(net.halves, Path(__file__).with_name("halves.onnx"), {"top": half, "bottom": half.clone()})
    print(f"accuracy on unseen digits: {accuracy(net, evaluation):.1%}")


if __name__ == "__main__":
    main()
