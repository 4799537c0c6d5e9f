"""The mean of equal blocks' means is the mean: a global average pool over too many values is taken in stages.

    GlobalAveragePool over h x w  ->  AveragePool(h1 x w1, stride h1 x w1) ... GlobalAveragePool(hn x wn)
    h = h1 h2 ... hn,  w = w1 w2 ... wn,  hi wi <= 512

Two stages split each side near its square root, as the original does; more are taken where two are not enough.
Outputs agree within 1e-5 of their largest value.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from math import isqrt

from ort_vitis_plugin.api import Context, Graph, Stage, transform

LARGEST = 512  # values that the device averages in one step


def divisors(number: int) -> list[int]:
    """All of them, ascending."""
    small = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})


def stages(height: int, width: int) -> list[tuple[int, int]] | None:
    """Kernels, each of at most 512 values, whose sides multiply to height and width; None for a prime side too long."""
    if height * width <= LARGEST:
        return [(height, width)]
    near = tuple(max(n for n in divisors(side) if n <= isqrt(side)) for side in (height, width))
    rest = (height // near[0], width // near[1])
    if 1 < near[0] * near[1] <= LARGEST and rest[0] * rest[1] <= LARGEST:
        return [(near[0], near[1]), rest]
    kernels = [(h, w) for h in divisors(height) for w in divisors(width) if 1 < h * w <= LARGEST]
    if not kernels:
        return None
    h, w = max(kernels, key=lambda kernel: (kernel[0] * kernel[1], -abs(kernel[0] - kernel[1])))
    following = stages(height // h, width // w)
    return None if following is None else [(h, w), *following]


@transform("SplitLargeKernelPool", stage=Stage.PREPARE, target="ipu_cnn", after=("ConvertReduceMeanToGlobalAvgPool",))
def split_large_pool(graph: Graph, context: Context) -> int:
    """Split a GlobalAveragePool over more than 512 values into stages that fit the device."""
    rewrites = 0
    for node in graph.of_type("GlobalAveragePool"):
        shape = graph.shape(node.input[0])
        reason = context.refusal(node)
        height, width = shape[2:] if shape is not None and len(shape) == 4 else (None, None)
        if not isinstance(height, int) or not isinstance(width, int):
            reason = reason or "height and width are not known, or its rank is not 4"
        elif height * width <= LARGEST:
            continue
        kernels = stages(height, width) if isinstance(height, int) and isinstance(width, int) else None
        if kernels is None:
            graph.skip(node, reason or f"{height}x{width} has a prime side beyond {LARGEST}")
            continue
        if reason is not None or shape is None:
            graph.skip(node, reason or "its shape is unknown")
            continue
        tensor = node.input[0]
        sides = list(shape)
        for h, w in kernels[:-1]:
            pooled = graph.unique(f"{node.input[0]}_Split")
            graph.make("AveragePool", [tensor], [pooled], kernel_shape=[h, w], strides=[h, w])
            sides[2:] = [side // k for side, k in zip(sides[2:], (h, w), strict=True) if isinstance(side, int)]
            graph.describe(pooled, graph.element_type(node.input[0]), sides)
            tensor = pooled
        graph.set_inputs(node, [tensor])
        rewrites += 1
    return rewrites
