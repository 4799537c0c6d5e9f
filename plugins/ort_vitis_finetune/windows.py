"""A convolution is a product of matrices: every output position reads one window of its input.

    y[m, o] = sum over c, k of W[m, c, k] * x[c, o * stride + k * dilation - pad]

Only the windows that are asked for are copied.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


@dataclass(frozen=True)
class Windows:
    """How windows lie over the spatial axes of an input; one entry per axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """How far a window reaches."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def over(self, x: NDArray[Any]) -> NDArray[Any]:
        """A view [N, *outputs, C, *kernel] of a padded copy of x [N, C, *spatial]."""
        pads = [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)]
        # Negative pads crop.
        crop = tuple(slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(pads, x.shape, strict=True))
        padded = np.pad(x[crop], [(max(low, 0), max(high, 0)) for low, high in pads])
        axes = tuple(range(2, x.ndim))
        view = np.lib.stride_tricks.sliding_window_view(padded, self.extents, axes)
        starts = tuple(slice(None, None, step) for step in self.strides)
        taps = tuple(slice(None, None, step) for step in self.dilations)
        return np.moveaxis(view[(slice(None), slice(None), *starts, *taps)], 1, 1 + len(axes))


def of_conv(node: NodeProto, kernel: tuple[int, ...], spatial: tuple[int, ...]) -> Windows:
    """The windows of a Conv over an input of this spatial shape."""
    rank = len(kernel)
    strides = tuple(attribute(node, "strides", [1] * rank))
    dilations = tuple(attribute(node, "dilations", [1] * rank))
    pads = list(attribute(node, "pads", [0] * 2 * rank))
    auto = attribute(node, "auto_pad", b"NOTSET").decode()
    if auto == "VALID":
        pads = [0] * 2 * rank
    elif auto.startswith("SAME"):
        total = [
            max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            for size, s, k, d in zip(spatial, strides, kernel, dilations, strict=True)
        ]
        pads = _halves(total, more_at_end=auto == "SAME_UPPER")
    return Windows(kernel, strides, dilations, tuple(pads[:rank]), tuple(pads[rank:]))


def of_transpose(node: NodeProto, kernel: tuple[int, ...], spatial: tuple[int, ...]) -> tuple[Windows, tuple[int, ...]]:
    """(windows over the input with zeros between its elements, its strides) of a ConvTranspose.

    Each output gathers W flipped over the stretched input: stride 1, pads (k - 1) * dilation - pad.
    """
    rank = len(kernel)
    strides = tuple(attribute(node, "strides", [1] * rank))
    dilations = tuple(attribute(node, "dilations", [1] * rank))
    extra = list(attribute(node, "output_padding", [0] * rank))
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = list(attribute(node, "pads", [0] * 2 * rank))
    auto = attribute(node, "auto_pad", b"NOTSET").decode()
    wanted = attribute(node, "output_shape", None)
    if wanted is None and auto.startswith("SAME"):
        wanted = [size * s for size, s in zip(spatial, strides, strict=True)]
    if wanted is not None:
        sizes = zip(spatial, strides, extra, extents, list(wanted)[-rank:], strict=True)
        total = [(size - 1) * s + e + extent - out for size, s, e, extent, out in sizes]
        extra = [e - min(t, 0) for e, t in zip(extra, total, strict=True)]
        pads = _halves([max(t, 0) for t in total], more_at_end=auto == "SAME_UPPER")
    elif auto == "VALID":
        pads = [0] * 2 * rank
    before = tuple(extent - 1 - pad for extent, pad in zip(extents, pads[:rank], strict=True))
    after = tuple(extent - 1 - pad + e for extent, pad, e in zip(extents, pads[rank:], extra, strict=True))
    return Windows(kernel, (1,) * rank, dilations, before, after), strides


def stretched(x: NDArray[Any], strides: tuple[int, ...]) -> NDArray[Any]:
    """x [N, C, *spatial] with stride - 1 zeros between neighbours along each spatial axis."""
    if all(step == 1 for step in strides):
        return x
    sizes = [(size - 1) * step + 1 for size, step in zip(x.shape[2:], strides, strict=True)]
    wide = np.zeros((*x.shape[:2], *sizes), x.dtype)
    wide[(slice(None), slice(None), *(slice(None, None, step) for step in strides))] = x
    return wide


def _halves(total: list[int], *, more_at_end: bool) -> list[int]:
    small, large = [t // 2 for t in total], [t - t // 2 for t in total]
    return [*small, *large] if more_at_end else [*large, *small]
