"""MX elements are small numbers times the power of two of their block: section 5.3 of the OCP MX specification 1.0."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

ROUNDINGS = ("half away from zero", "half up", "half to even")
"""Attribute ``rounding_mode`` is an index into these."""


@dataclass(frozen=True)
class ElementType:
    """Multiples of 2^-mantissa times the power of two below the element, which is at least 2^emin.

    The largest element of a block has exponent ``emax``; results are limited to ``low`` and ``high``.
    """

    name: str
    bits: int
    mantissa: int
    emax: int
    emin: int
    low: float
    high: float

    @property
    def is_integer(self) -> bool:
        """One step for all elements, whatever their own exponents; only then ``rounding_mode`` has a meaning."""
        return self.emin == self.emax


def _small_float(name: str, mantissa: int, emax: int, emin: int, largest: float) -> ElementType:
    exponent_bits = (emax - emin).bit_length()
    return ElementType(name, 1 + exponent_bits + mantissa, mantissa, emax, emin, -largest, largest)


ELEMENT_TYPES = {
    element.name: element
    for element in (
        ElementType("int8", 8, 6, 0, 0, -2.0, 127 / 64),
        _small_float("fp8_e5m2", 2, 15, -14, 57344.0),
        _small_float("fp8_e4m3", 3, 8, -6, 448.0),
        _small_float("fp6_e3m2", 2, 4, -2, 28.0),
        _small_float("fp6_e2m3", 3, 2, 0, 7.5),
        _small_float("fp4_e2m1", 1, 2, 0, 6.0),
    )
}
