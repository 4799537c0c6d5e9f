"""The torch executor beside the modules it runs: python tests/benchmarks/bench_torch_executor.py [--calibration]

The families of torchvision's classifiers, with random weights and built here (torchvision need not be there): the
largest difference relative to the largest output, and the time in shares of the module's own, on one thread. Exits with
1 where a difference is above 1e-4 or a share above 1.3. ``--calibration`` measures what calibration through torch costs
in shares of the ONNX flow's, at most 1.3 too.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import ort_vitis_plugin  # noqa: E402
import ort_vitis_torch as ovt  # noqa: E402

MOST, DIFFERENCE, RUNS, CALIBRATIONS = 1.3, 1e-4, 12, 3


def layer(a: int, b: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: Any = nn.ReLU) -> nn.Sequential:
    conv = nn.Conv2d(a, b, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(b), act())


class Residual(nn.Module):
    """x + f(x), with a projection where sizes differ."""

    def __init__(self, a: int, b: int, stride: int, act: Any = nn.ReLU) -> None:
        super().__init__()
        self.inner = nn.Sequential(layer(a, b, 3, stride), nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b))
        self.outer = nn.Identity() if a == b and stride == 1 else nn.Conv2d(a, b, 1, stride)
        self.act = act()

    def forward(self, x: Any) -> Any:
        return self.act(self.inner(x) + self.outer(x))


class Excited(nn.Module):
    """Channels weighed by their means, as in MobileNetV3 and EfficientNet."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.less, self.more = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)

    def forward(self, x: Any) -> Any:
        means = functional.adaptive_avg_pool2d(x, 1)
        return x * functional.hardsigmoid(self.more(torch.relu(self.less(means))))


class Inverted(nn.Module):
    """MobileNet's block: wide and depthwise inside."""

    def __init__(self, a: int, b: int, stride: int, act: Any, *, excites: bool = False) -> None:
        super().__init__()
        wide = 4 * a
        parts = [layer(a, wide, 1, act=act), layer(wide, wide, 3, stride, wide, act)]
        parts += [Excited(wide)] if excites else []
        self.inner = nn.Sequential(*parts, nn.Conv2d(wide, b, 1, bias=False), nn.BatchNorm2d(b))
        self.adds = a == b and stride == 1

    def forward(self, x: Any) -> Any:
        return x + self.inner(x) if self.adds else self.inner(x)


class Shuffled(nn.Module):
    """ShuffleNet's unit: halves, of which one is changed, and channels in turn."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.right = nn.Sequential(
            layer(half, half, 1), layer(half, half, 3, 1, half, nn.Identity), layer(half, half, 1)
        )

    def forward(self, x: Any) -> Any:
        a, b = x.chunk(2, 1)
        y = torch.cat([a, self.right(b)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Dense(nn.Module):
    """DenseNet's block: every layer sees all before it."""

    def __init__(self, width: int, growth: int, depth: int) -> None:
        super().__init__()
        sizes = [width + growth * at for at in range(depth)]
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(n), nn.ReLU(), nn.Conv2d(n, growth, 3, padding=1)) for n in sizes
        )

    def forward(self, x: Any) -> Any:
        for each in self.layers:
            x = torch.cat([x, each(x)], 1)
        return x


class Fire(nn.Module):
    """SqueezeNet's module, and the branches of Inception: two convolutions side by side."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.less, self.one, self.three = layer(a, b // 4, 1), layer(b // 4, b // 2, 1), layer(b // 4, b // 2)

    def forward(self, x: Any) -> Any:
        y = self.less(x)
        return torch.cat([self.one(y), self.three(y)], 1)


class Next(nn.Module):
    """ConvNeXt's block: depthwise, then a normalized perceptron on the last axis."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.more, self.less = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.factor = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Any) -> Any:
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        return x + (self.factor * self.less(functional.gelu(self.more(y)))).permute(0, 3, 1, 2)


class Encoder(nn.Module):
    """A vision transformer's block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Any) -> Any:
        y = self.before(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.inner(self.after(x))


class Window(nn.Module):
    """Swin's block: attention within windows that are moved."""

    def __init__(self, width: int, heads: int, side: int = 7) -> None:
        super().__init__()
        self.heads, self.side, self.norm = heads, side, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.place = nn.Parameter(torch.randn(1, heads, side**2, side**2) * 0.02)
        self.inner = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        n, h, w, c = x.shape
        side = self.side
        moved = torch.roll(self.norm(x), (-3, -3), (1, 2)).view(n, h // side, side, w // side, side, c)
        rows = moved.permute(0, 1, 3, 2, 4, 5).reshape(-1, side**2, c)
        q, k, v = self.qkv(rows).reshape(len(rows), side**2, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1) + self.place
        rows = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(rows.shape))
        back = rows.view(n, h // side, w // side, side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(x.shape)
        x = x + torch.roll(back, (3, 3), (1, 2))
        return x + self.inner(x)


class Patches(nn.Module):
    """Pictures as rows of patches (``as_rows``) or as a grid of them, blocks, and the mean of all."""

    def __init__(self, width: int, patch: int, blocks: nn.Module, *, as_rows: bool) -> None:
        super().__init__()
        self.patches, self.blocks, self.head, self.as_rows = (
            nn.Conv2d(3, width, patch, patch),
            blocks,
            nn.Linear(width, 10),
            as_rows,
        )

    def forward(self, x: Any) -> Any:
        y = self.patches(x)
        y = y.flatten(2).transpose(1, 2) if self.as_rows else y.permute(0, 2, 3, 1)
        return self.head(self.blocks(y).flatten(1, -2).mean(1))


def pictures(*parts: nn.Module, width: int) -> nn.Module:
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def vgg() -> nn.Module:
    pairs = [(3, 64), (64, 128), (128, 256), (256, 256)]
    parts = [part for a, b in pairs for part in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(256 * 36, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 10))


SIX, HARD, SILU = nn.ReLU6, nn.Hardswish, nn.SiLU
FAMILIES: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "vgg, alexnet": (vgg, 96),
    "resnet, resnext": (lambda: pictures(layer(3, 64, 7, 2), Residual(64, 64, 1), Residual(64, 128, 2), width=128), 96),
    "mobilenet v2, mnasnet": (
        lambda: pictures(layer(3, 24, 3, 2), *[Inverted(24, 24, 1, SIX) for _ in range(4)], width=24),
        96,
    ),
    "mobilenet v3": (
        lambda: pictures(layer(3, 16, 3, 2), *[Inverted(16, 16, 1, HARD, excites=True) for _ in range(4)], width=16),
        96,
    ),
    "efficientnet, regnet": (
        lambda: pictures(layer(3, 32, 3, 2), *[Inverted(32, 32, 1, SILU, excites=True) for _ in range(4)], width=32),
        96,
    ),
    "shufflenet": (lambda: pictures(layer(3, 48, 3, 2), *[Shuffled(48) for _ in range(6)], width=48), 96),
    "densenet": (lambda: pictures(layer(3, 16, 3, 2), Dense(16, 12, 8), width=112), 64),
    "squeezenet, inception": (lambda: pictures(layer(3, 32, 3, 2), *[Fire(32, 32) for _ in range(5)], width=32), 96),
    "convnext": (lambda: pictures(nn.Conv2d(3, 48, 4, 4), *[Next(48) for _ in range(4)], width=48), 96),
    "vit": (lambda: Patches(192, 16, nn.Sequential(*[Encoder(192, 3) for _ in range(3)]), as_rows=True), 224),
    "swin, maxvit": (lambda: Patches(96, 4, nn.Sequential(Window(96, 3), Window(96, 3)), as_rows=False), 112),
}


def best(function: Callable[[], object]) -> float:
    start = time.thread_time()
    function()
    return time.thread_time() - start


def measured(module: nn.Module, x: torch.Tensor, runs: int = RUNS) -> tuple[float, float, float]:
    """The difference, the module's seconds and the executor's."""
    module.eval()
    graph = ovt.OnnxModule(ovt.export(module, x).model).eval()
    with torch.no_grad():
        wanted, found = module(x), graph(x)[0]
        pairs = [(best(lambda: module(x)), best(lambda: graph(x))) for _ in range(runs)]
    difference = float((wanted - found).abs().max() / wanted.abs().max())
    return difference, min(native for native, _ in pairs), min(ours for _, ours in pairs)


def calibration() -> float:
    """Seconds of calibration through torch, in shares of the ONNX flow's."""
    kind, side = FAMILIES["densenet"]
    torch.manual_seed(0)
    module, batches = kind().eval(), [torch.randn(4, 3, side, side) for _ in range(16)]
    exported = ovt.export(module, batches[0])
    feeds = [{exported.input_names[0]: batch.numpy()} for batch in batches]

    def through_torch() -> None:
        with tempfile.TemporaryDirectory() as folder:
            quantizer = ovt.torch_quantizer("calib", module, batches[0], output_dir=folder)
            for batch in batches:
                quantizer.quant_model(batch)
            quantizer.export_quant_config()

    ort_vitis_plugin.quantize_static(exported.model, None, feeds[:1])  # imports belong to neither
    pairs = []
    for _ in range(CALIBRATIONS):
        seconds = []
        for function in (lambda: ort_vitis_plugin.quantize_static(exported.model, None, feeds), through_torch):
            start = time.process_time()
            function()
            seconds.append(time.process_time() - start)
        pairs.append(seconds)
    onnx_flow, ours = (min(each) for each in zip(*pairs, strict=True))
    return ours / onnx_flow


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibration", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    fails = False
    for name, (kind, side) in FAMILIES.items():
        torch.manual_seed(0)
        difference, native, ours = measured(kind(), torch.randn(2, 3, side, side))
        print(f"{name:24} {difference:.1e} apart, {native * 1e3:6.2f} ms, {ours / native:.2f} of it")
        fails |= difference > DIFFERENCE or ours > MOST * native
    if asked.calibration:
        share = calibration()
        print(f"calibration through torch: {share:.2f} of the ONNX flow's")
        fails |= share > MOST
    return int(fails)


if __name__ == "__main__":
    sys.exit(main())
