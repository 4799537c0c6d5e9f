"""The DPU divides by n as it multiplies by K and shifts right by s bits: 1 / n is about K / 2^s.

Source: factors in models of the Vitis AI Quantizer for ONNX 1.16, for square windows of sides 1 to 255.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from fractions import Fraction

# K / 2^s that the DPU's pooling engine has built in, by the side of a square window.
BUILT_IN = {
    3: Fraction(7, 64),
    5: Fraction(10, 256),
    6: Fraction(7, 256),
    7: Fraction(21, 1024),
    14: Fraction(21, 4096),
}
LARGEST_SIDE = 255


def approximate_reciprocal(n: int) -> Fraction:
    """K / 2^s nearest to 1 / n, K = round(2^s / n), s = 0 .. 6 + ceil(log2 n); of equal ones the smallest s."""
    shifts = range(7 + math.ceil(math.log2(n)))
    candidates = [Fraction(round(Fraction(2**shift, n)), 2**shift) for shift in shifts]
    return min(candidates, key=lambda candidate: abs(candidate - Fraction(1, n)))


def mean_factor(n: int) -> float:
    """What the DPU computes over the true mean of n values: n * K / 2^s."""
    return float(n * approximate_reciprocal(n))


def pool_factor(kernel: tuple[int, ...]) -> float:
    """The same for an average pool; square windows of some sides have a K of their own, sides above 255 none."""
    if max(kernel) > LARGEST_SIDE:
        return 1.0
    area = math.prod(kernel)
    if len(kernel) == 2 and kernel[0] == kernel[1] and kernel[0] in BUILT_IN:
        return float(area * BUILT_IN[kernel[0]])
    return mean_factor(area)
