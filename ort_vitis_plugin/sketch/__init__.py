"""A tensor's values, counted so finely that the squared error of every 8-bit power-of-two position is exact.

Values are counted by the upper 17 bits of their float32 pattern (sign, exponent, 8 mantissa bits). Inside a bin a
value is affine in its 15 lower bits, so two integers per bin, n and sum(low), give count and sum exactly. Integers do
not care about order: any split of the data over samples, threads or machines gives the same bits.

At step 2^-p every rounding and clipping boundary is an odd multiple of 2^-(p+1); up to |q| = 256 those lie on bin
edges, so all values of a bin round to the same q, and with the means m_b of the bins

    error(p) = W + sum_b n_b (m_b - q_b 2^-p)^2        W = sum x^2 - sum_b n_b m_b^2

where W is the same for every p. The one float is sum x^2: it is folded in a fixed order over pieces of 32,768 values
counted from the start of every array given, and the pieces are added exactly, so it depends on neither threads nor the
order of arrays. (Exact squares per bin would cost half as much time again and change no decision, for W is constant.)
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .bins import Bins
from .position_error import squared_error_direct
from .sketch import Sketch, merged

__all__ = ["Bins", "Sketch", "merged", "squared_error_direct"]
