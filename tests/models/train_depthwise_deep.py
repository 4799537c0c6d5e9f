"""Trains a depthwise network under ReLU6 whose channels differ by 2^-5 to 2^5 through its whole depth.

Behind every convolution stands    y = min(max(s x, 0), 6) / s    with s = 2^(u - 3), u drawn from -5 to 5 for each
channel; then s is folded into the convolution before, and 1 / s into the one behind: what is left is ReLU6. Normalized
channels of the largest s reach 6 (3 is 24 there), so that no factor may move past them; all others never do.
`python -m tests.models.train_depthwise_deep` needs torch and scikit-learn.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

from ort_vitis_plugin.demo.train import accuracy, conv_block, export, fit, repeatable, split

OCTAVES, MIDDLE = 5.0, -3.0
EPOCHS = 30


class ScaledRelu6(nn.Module):  # type: ignore[misc]
    """ReLU6 of every channel in its own unit."""

    def __init__(self, channels: int, generator: torch.Generator) -> None:
        super().__init__()
        octaves = MIDDLE + (torch.rand(channels, generator=generator) * 2 - 1) * OCTAVES
        self.register_buffer("scale", 2.0**octaves)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.scale[:, None, None]
        return nn.functional.relu6(x * scale) / scale


def network(width: int = 24) -> nn.Sequential:
    """Eleven convolutions, every one followed by ReLU6."""
    generator = torch.Generator().manual_seed(0)

    def block(inputs: int, outputs: int, kernel: int = 3, groups: int = 1) -> list[nn.Module]:
        return [*conv_block(inputs, outputs, kernel, groups), ScaledRelu6(outputs, generator)]

    layers = block(1, width)
    for inputs, outputs in ((1, 1), (1, 2), (2, 2), (2, 2), (2, 3)):
        if outputs == 3:
            layers.append(nn.MaxPool2d(2))
        layers += block(inputs * width, inputs * width, groups=inputs * width)
        layers += block(inputs * width, outputs * width, kernel=1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3 * width, 10))


def folded(net: nn.Sequential) -> nn.Sequential:
    """The same network with normalizations and scales folded into its convolutions."""
    layers: list[nn.Module] = []
    scales: list[torch.Tensor] = []
    for layer in net:
        if isinstance(layer, nn.BatchNorm2d):
            layers[-1] = nn.utils.fusion.fuse_conv_bn_eval(layers[-1].eval(), layer.eval())
        elif isinstance(layer, ScaledRelu6):
            scales.append(layer.scale)
            layers.append(nn.ReLU6())
        else:
            layers.append(layer)
    weighted = [layer for layer in layers if isinstance(layer, (nn.Conv2d, nn.Linear))]
    for (first, second), scale in zip(pairwise(weighted), scales, strict=True):
        with torch.no_grad():
            first.weight *= scale[:, None, None, None]
            first.bias *= scale
            depthwise = isinstance(second, nn.Conv2d) and second.groups > 1
            rows = scale[:, None] if depthwise else scale[None]
            second.weight /= rows.reshape(rows.shape + (1,) * (second.weight.ndim - 2))
    return nn.Sequential(*layers)


def main() -> None:
    repeatable()
    training, _, evaluation = split()
    net = network()
    fit(net, training, EPOCHS)
    before = accuracy(net, evaluation)
    net = folded(net)
    path = Path(__file__).with_name("depthwise_deep.onnx")
    export(net, path, {"image": torch.zeros(1, 1, 8, 8)}, keep_batch_norm=False)
    print(f"accuracy on unseen digits: {before:.1%}, folded {accuracy(net, evaluation):.1%}")


if __name__ == "__main__":
    main()
