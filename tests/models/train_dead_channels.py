"""Trains a network of MobileNetV2's kind, some of whose depthwise channels are always 0 under weights that are huge.

Such channels are born in training: an expansion falls below 0 for every picture, its ReLU6 gives 0, and nothing holds
the weights behind it any more. Here they are made, up to `HUGE` times as large as the median of all.
`python -m tests.models.train_dead_channels` needs torch and scikit-learn.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from ort_vitis_plugin.demo.train import accuracy, conv_block, export, fit, repeatable, split

HUGE = 48.0
DEAD, EPOCHS = 5, 30


class Inverted(nn.Module):  # type: ignore[misc]
    """Expansion, depthwise convolution and projection, beside the data as it came where shapes allow."""

    def __init__(self, inputs: int, outputs: int, factor: int = 4) -> None:
        super().__init__()
        wide = inputs * factor
        self.expand = nn.Sequential(*conv_block(inputs, wide, 1), nn.ReLU6())
        self.depthwise = nn.Sequential(*conv_block(wide, wide, groups=wide), nn.ReLU6())
        self.project = nn.Sequential(*conv_block(wide, outputs, 1))
        self.adds = inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.adds else y


def network(width: int = 16) -> nn.Sequential:
    """Four inverted residual blocks between a stem and a head."""
    return nn.Sequential(
        *conv_block(1, width),
        nn.ReLU6(),
        Inverted(width, width),
        Inverted(width, width),
        nn.MaxPool2d(2),
        Inverted(width, 2 * width),
        Inverted(2 * width, 2 * width),
        *conv_block(2 * width, 3 * width, 1),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(3 * width, 10),
    )


def with_dead_channels(net: nn.Sequential) -> None:
    """Give the channels of each block that matter least an input of 0, and weights that nothing holds."""
    generator = torch.Generator().manual_seed(0)
    for block in (layer for layer in net if isinstance(layer, Inverted)):
        expand, depthwise, project = (part[0] for part in (block.expand, block.depthwise, block.project))
        dead = project.weight.detach().abs().sum(dim=(0, 2, 3)).argsort()[:DEAD]
        median = depthwise.weight.detach().abs().median()
        with torch.no_grad():
            expand.weight[dead] = 0.0
            block.expand[1].running_mean[dead] = 0.0
            block.expand[1].bias[dead] = -1.0
            drawn = torch.rand((len(dead), *depthwise.weight.shape[1:]), generator=generator) - 0.5
            depthwise.weight[dead] = 2 * HUGE * median * drawn


def main() -> None:
    repeatable()
    training, _, evaluation = split()
    net = network()
    fit(net, training, EPOCHS)
    before = accuracy(net, evaluation)
    with_dead_channels(net)
    path = Path(__file__).with_name("dead_channels.onnx")
    print(f"accuracy on unseen digits: {before:.1%}, with dead channels {accuracy(net, evaluation):.1%}")
    export(net, path, {"image": torch.zeros(1, 1, 8, 8)}, keep_batch_norm=False)


if __name__ == "__main__":
    main()
