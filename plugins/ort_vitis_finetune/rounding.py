"""Whole steps for the weights of a layer, such that its output, not its weights, has the least squared error.

With x_f, x_q the inputs of the float and of the quantized network, and W, Q the weights of one output:

    E (W x_f - Q x_q)^2 = Q H Q^T - 2 R Q^T + const,     H = E[x_q x_q^T],  R = W E[x_f x_q^T]

Damping adds lambda |Q - W|^2. The start is Babai's nearest plane along a Cholesky factor of H, which is GPTQ
(arXiv 2210.17323, 2507.18553); then each weight in turn moves to where the error is least, until none moves. Where
rows are short, as in depthwise convolutions, many roundings of a row are followed at once.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 128
PASSES = 10
# Rows of at most so many weights are searched with a beam of so many roundings.
SHORT, BEAM = 32, 32
NOISE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}


@dataclass(frozen=True)
class Lattice:
    """The points that weights [group, output, K] may take: n * step, low <= n <= high; arrays broadcast to them."""

    step: NDArray[np.floating]
    low: NDArray[np.integer]
    high: NDArray[np.integer]

    def nearest(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Whole numbers n of the nearest points."""
        found: NDArray[np.floating] = np.clip(np.rint(values / self.step), self.low, self.high)
        return found

    def columns(self, order: NDArray[np.int64], shape: tuple[int, ...]) -> Lattice:
        """The lattice of weights of ``shape`` whose columns are put in this order [group, K]."""
        return Lattice(*(_ordered(np.broadcast_to(part, shape), order) for part in (self.step, self.low, self.high)))


@dataclass(frozen=True)
class Quadratic:
    """Q H Q^T - 2 R Q^T, summed over groups and outputs: H [group, K, K], R [group, output, K]."""

    h: NDArray[np.floating]
    r: NDArray[np.floating]

    def __call__(self, q: NDArray[np.floating]) -> float:
        """The value at weights q [group, output, K]."""
        return float(np.sum(((q @ self.h) - 2 * self.r) * q, dtype=np.float64))


def damped(w: NDArray[np.floating], h: NDArray[np.floating], a: NDArray[np.floating], damping: float) -> Quadratic:
    """The error of a layer, plus ``damping`` times the mean square of an input times |Q - W|^2, per group."""
    extra = damping * np.einsum("gkk->g", h)[:, None, None] / h.shape[2]
    eye = np.eye(h.shape[2], dtype=h.dtype)
    return Quadratic(h + (extra * eye).astype(h.dtype), (w @ a + extra * w).astype(h.dtype))


def solve(quadratic: Quadratic, lattice: Lattice, fallback: NDArray[np.floating]) -> NDArray[np.int64]:
    """Whole numbers [group, output, K] that minimize the quadratic as far as this method does.

    ``fallback`` are the weights to start from where H has no inverse. Deterministic; of the starts nearest plane and
    plain rounding the better one per output is improved, so the result is never worse than plain rounding.
    """
    best = lattice.nearest(fallback.astype(quadratic.h.dtype))
    try:
        planes = Planes(quadratic, lattice)
    except np.linalg.LinAlgError:
        return descend(quadratic, lattice, best).astype(np.int64)
    starts = [planes.nearest()]
    if quadratic.h.shape[2] <= SHORT:
        starts.append(planes.beam(BEAM))
    for start in starts:
        better = _row_errors(quadratic, start * lattice.step) < _row_errors(quadratic, best * lattice.step)
        best = np.where(better[:, :, None], start, best)
    return descend(quadratic, lattice, best).astype(np.int64)


class Planes:
    """The quadratic as a sum of squares, each of which holds one weight more than the one before.

    With H = L L^T, t = R H^-1 and e = t - q:  Q H Q^T - 2 R Q^T = |e L|^2 + const
    = sum over k of (L_kk e_k + sum over j > k of L_jk e_j)^2 + const: from the last column backwards each square can be
    made least. Columns of large H_kk go first: the others can still mend them. LinAlgError where H is singular.
    """

    def __init__(self, quadratic: Quadratic, lattice: Lattice) -> None:
        h, r = quadratic.h, quadratic.r
        self._order = np.argsort(np.einsum("gkk->gk", h), axis=1, kind="stable")
        h = np.take_along_axis(np.take_along_axis(h, self._order[:, :, None], 1), self._order[:, None, :], 2)
        self._lower = np.linalg.cholesky(h)
        self._target = np.linalg.solve(h, _ordered(r, self._order).transpose(0, 2, 1)).transpose(0, 2, 1)
        if not np.isfinite(self._target).all():
            raise np.linalg.LinAlgError("no finite solution")
        self._points = lattice.columns(self._order, r.shape)

    def nearest(self) -> NDArray[np.floating]:
        """Each square made least in its turn."""
        target, lower = self._target, self._lower
        codes, errors = np.zeros_like(target), np.zeros_like(target)
        width = target.shape[2]
        for first in range(BLOCK * ((width - 1) // BLOCK), -1, -BLOCK):
            last = min(first + BLOCK, width)
            carried = errors[:, :, last:] @ lower[:, last:, first:last]
            for k in range(last - 1, first - 1, -1):
                inside = np.einsum("gmj,gj->gm", errors[:, :, k + 1 : last], lower[:, k + 1 : last, k])
                wish = target[:, :, k] + (carried[:, :, k - first] + inside) / lower[:, k, k][:, None]
                codes[:, :, k], step = self._nearest_code(k, wish)
                errors[:, :, k] = target[:, :, k] - codes[:, :, k] * step
        return self._in_place(codes)

    def beam(self, size: int) -> NDArray[np.floating]:
        """The ``size`` roundings of each row whose squares so far are least go on, with three codes each."""
        target, lower = self._target, self._lower
        groups, outputs, width = target.shape
        codes = np.zeros((groups, outputs, 1, width))
        errors, cost = np.zeros_like(codes), np.zeros((groups, outputs, 1))
        for k in range(width - 1, -1, -1):
            pivot = lower[:, k, k][:, None, None]
            wish = target[:, :, None, k] + np.einsum("gmbj,gj->gmb", errors[..., k + 1 :], lower[:, k + 1 :, k]) / pivot
            middle, step = self._nearest_code(k, wish)
            # The codes beside the nearest; one beyond the limits costs infinitely much.
            tried = middle[..., None] + np.array([0, 1, -1])
            off = (wish[..., None] - tried * step[..., None]) * pivot[..., None]
            low, high = (part[:, :, k][..., None, None] for part in (self._points.low, self._points.high))
            total = np.where((tried >= low) & (tried <= high), cost[..., None] + off**2, np.inf)
            total = total.reshape(groups, outputs, -1)
            kept = np.argsort(total, axis=2, kind="stable")[:, :, :size]
            parent = (kept // 3)[..., None]
            cost = np.take_along_axis(total, kept, 2)
            codes, errors = np.take_along_axis(codes, parent, 2), np.take_along_axis(errors, parent, 2)
            codes[..., k] = np.take_along_axis(tried.reshape(groups, outputs, -1), kept, 2)
            errors[..., k] = target[:, :, None, k] - codes[..., k] * step
        return self._in_place(codes[:, :, 0])

    def _nearest_code(self, k: int, wish: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """(code of column k nearest to the wish [group, output, ...], its step)."""
        points, shape = self._points, wish.shape[:2] + (1,) * (wish.ndim - 2)
        step = points.step[:, :, k].reshape(shape)
        low, high = (part[:, :, k].reshape(shape) for part in (points.low, points.high))
        return np.clip(np.rint(wish / step), low, high), step

    def _in_place(self, codes: NDArray[np.floating]) -> NDArray[np.floating]:
        return _ordered(codes, np.argsort(self._order, axis=1))


def descend(
    quadratic: Quadratic, lattice: Lattice, codes: NDArray[np.floating], passes: int = PASSES
) -> NDArray[np.floating]:
    """Move one column of weights after the other to where the quadratic is least; it never rises.

    With G = Q H - R, moving Q_k by d changes it by 2 d G_k + d^2 H_kk: d = -G_k / H_kk, in whole steps, is best. Inside
    a block of columns G is kept up to date; the rest of G follows in one product when the block is done. Outputs of
    which no weight moved are done with.
    """
    h = quadratic.h
    # Columns are looked at one by one: they lie together, [group, K, output].
    parts = (codes, lattice.step, lattice.low, lattice.high, quadratic.r)
    laid = (np.broadcast_to(part, codes.shape).transpose(0, 2, 1).astype(h.dtype, order="C") for part in parts)
    now, step, low, high, r = laid
    curve = step * np.einsum("gkk->gk", h)[:, :, None]
    # What float arithmetic cannot tell from half a step is no reason to move.
    inverse = np.divide(1 - NOISE[h.dtype], curve, out=np.zeros_like(curve), where=curve > 0)
    rows = np.arange(codes.shape[1])
    for _ in range(passes):
        gradient = h @ (now[:, :, rows] * step[:, :, rows]) - r[:, :, rows]
        wishes = _whole_moves(gradient, inverse[:, :, rows], now[:, :, rows], low[:, :, rows], high[:, :, rows])
        moving = np.any(wishes, axis=(0, 1))
        rows, gradient = rows[moving], gradient[:, :, moving]
        if not len(rows):
            break
        now[:, :, rows] = _one_pass(h, gradient, [part[:, :, rows] for part in (now, step, low, high, inverse)])
    found: NDArray[np.floating] = np.rint(now.transpose(0, 2, 1))
    return found


def _one_pass(
    h: NDArray[np.floating], gradient: NDArray[np.floating], parts: list[NDArray[np.floating]]
) -> NDArray[np.floating]:
    """Every column once; ``gradient`` and ``parts`` (codes, steps, limits, 1 / (step H_kk)) are [group, K, output]."""
    now, step, low, high, inverse = parts
    width = h.shape[1]
    for first in range(0, width, BLOCK):
        last = min(first + BLOCK, width)
        moves = np.zeros_like(gradient[:, first:last])
        for k in range(first, last):
            whole = _whole_moves(gradient[:, k], inverse[:, k], now[:, k], low[:, k], high[:, k])
            if not whole.any():
                continue
            now[:, k] += whole
            moves[:, k - first] = d = whole * step[:, k]
            gradient[:, k + 1 : last] += h[:, k + 1 : last, k, None] * d[:, None]
        if last < width and moves.any():
            gradient[:, last:] += h[:, last:, first:last] @ moves
    return now


def _whole_moves(
    slope: NDArray[np.floating],
    inverse: NDArray[np.floating],
    now: NDArray[np.floating],
    low: NDArray[np.floating],
    high: NDArray[np.floating],
) -> NDArray[np.floating]:
    found: NDArray[np.floating] = np.minimum(np.maximum(np.rint(-slope * inverse), low - now), high - now)
    return found


def _row_errors(quadratic: Quadratic, q: NDArray[np.floating]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.sum(((q @ quadratic.h) - 2 * quadratic.r) * q, axis=2, dtype=np.float64)
    return found


def _ordered(array: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    return np.take_along_axis(array, order[:, None, :], axis=2)
