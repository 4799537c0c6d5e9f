"""Trains a depthwise-separable network, then gives its channels ranges that differ by 100 times.

Relu is positively homogeneous, so a channel may be multiplied by s in front of it and divided by s behind it:
    Conv -> Relu -> depthwise -> Relu -> Conv   with   w1' = s w1,  wd' = (t / s) wd,  w2' = w2 / t
is the same function. One scale per tensor, as the NPU has, now leaves the small channels no bits.
`python -m tests.models.train_depthwise_skewed` needs torch and scikit-learn.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

from ort_vitis_plugin.demo.train import accuracy, conv_block, export, fit, repeatable, split

RATIO = 100.0


def separable(inputs: int, outputs: int) -> list[nn.Module]:
    """Depthwise, then pointwise convolution."""
    return [*conv_block(inputs, inputs, groups=inputs), nn.ReLU(), *conv_block(inputs, outputs, 1), nn.ReLU()]


def network(width: int = 24) -> nn.Sequential:
    """Eight convolutions, every one followed by Relu."""
    return nn.Sequential(
        *conv_block(1, width),
        nn.ReLU(),
        *separable(width, width),
        *separable(width, 2 * width),
        nn.MaxPool2d(2),
        *separable(2 * width, 2 * width),
        *separable(2 * width, 3 * width),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(3 * width, 10),
    )


def folded(net: nn.Sequential) -> nn.Sequential:
    """The same network with every normalization folded into its convolution."""
    layers: list[nn.Module] = []
    for layer in net:
        if isinstance(layer, nn.BatchNorm2d):
            layers[-1] = nn.utils.fusion.fuse_conv_bn_eval(layers[-1].eval(), layer.eval())
        else:
            layers.append(layer)
    return nn.Sequential(*layers)


def skewed(net: nn.Sequential) -> None:
    """Multiplies the channels between two convolutions by factors from 1 / sqrt(RATIO) to sqrt(RATIO)."""
    generator = torch.Generator().manual_seed(0)
    convolutions = [layer for layer in net if isinstance(layer, nn.Conv2d)]
    for first, second in pairwise(convolutions):
        spread = torch.linspace(-0.5, 0.5, first.out_channels)[torch.randperm(first.out_channels, generator=generator)]
        factor = RATIO**spread
        with torch.no_grad():
            first.weight *= factor[:, None, None, None]
            first.bias *= factor
            depthwise = second.groups > 1
            second.weight /= factor[:, None, None, None] if depthwise else factor[None, :, None, None]


def main() -> None:
    repeatable()
    training, _, evaluation = split()
    net = network()
    fit(net, training)
    net = folded(net)
    before = accuracy(net, evaluation)
    skewed(net)
    path = Path(__file__).with_name("depthwise_skewed.onnx")
    export(net, path, {"image": torch.zeros(1, 1, 8, 8)}, keep_batch_norm=False)
    print(f"accuracy on unseen digits: {before:.1%}, skewed {accuracy(net, evaluation):.1%}")


if __name__ == "__main__":
    main()
