"""Small networks in torch, the digits of scikit-learn, and what they reach after some seconds of training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")
datasets = pytest.importorskip("sklearn.datasets")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.set_num_threads(1)

TRAINING, CALIBRATION = 1200, 256


class Digits(NamedTuple):
    """8x8 digits as N x 1 x 8 x 8 in [0, 1], and their labels; no image is in both halves."""

    images: Any
    labels: Any
    unseen: Any
    unseen_labels: Any


@cache
def digits() -> Digits:
    data = datasets.load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(data.images[:, None] / 16, dtype=torch.float32)[order]
    labels = torch.tensor(data.target)[order]
    return Digits(images[:TRAINING], labels[:TRAINING], images[TRAINING:], labels[TRAINING:])


def calibration_batches(size: int = 64) -> Any:
    return digits().images[:CALIBRATION].split(size)


def accuracy(model: Any) -> float:
    """Percent of the unseen digits."""
    with torch.no_grad():
        found = model(digits().unseen).argmax(1)
    return float((found == digits().unseen_labels).float().mean()) * 100


def fit(model: Any, epochs: int, groups: Any = None, rate: float = 3e-3) -> None:
    optimizer = torch.optim.Adam(groups or model.parameters(), rate)
    data = digits()
    steps = epochs * (TRAINING // 64 + 1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator().manual_seed(1)
    model.train()
    for _ in range(epochs):
        for picked in torch.randperm(TRAINING, generator=generator).split(64):
            optimizer.zero_grad()
            functional.cross_entropy(model(data.images[picked]), data.labels[picked]).backward()
            optimizer.step()
            schedule.step()
    model.eval()


@cache
def trained(kind: type, epochs: int = 6) -> Any:
    """A trained network; take a copy before changing it."""
    torch.manual_seed(0)
    model = kind()
    fit(model, epochs)
    return model


def depthwise(a: int, b: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(a, a, 3, stride, 1, groups=a, bias=False),
        nn.BatchNorm2d(a),
        nn.ReLU6(),
        nn.Conv2d(a, b, 1, bias=False),
        nn.BatchNorm2d(b),
        nn.ReLU6(),
    )


class MobileS(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        stem = (nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6())
        self.features = nn.Sequential(*stem, depthwise(16, 24, 1), depthwise(24, 32, 2), depthwise(32, 48, 2))
        self.fc = nn.Linear(48, 10)

    def forward(self, x: Any) -> Any:
        return self.fc(functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


class Block(nn.Module):
    def __init__(self, a: int, b: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.shortcut = nn.Identity() if a == b else nn.Conv2d(a, b, 1, stride)

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


class ResNetS(nn.Module):
    """Stages of 8, 16 and 24 channels with ``depth`` blocks each."""

    depth = 1

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, 1, 1)
        blocks, a = [], 8
        for b, stride in ((8, 1), (16, 2), (24, 2)):
            blocks += [Block(a, b, stride), *(Block(b, b, 1) for _ in range(self.depth - 1))]
            a = b
        self.layers = nn.Sequential(*blocks)
        self.fc = nn.Linear(24, 10)

    def forward(self, x: Any) -> Any:
        return self.fc(self.layers(torch.relu(self.stem(x))).mean((2, 3)))


class ResNetM(ResNetS):
    """Twice as deep: what few bits cost adds up from block to block."""

    depth = 2


class Shuffle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Conv2d(4, 4, 1)
        self.stem, self.fc = nn.Conv2d(1, 8, 3, 2, 1), nn.Linear(8 * 16, 10)

    def forward(self, x: Any) -> Any:
        a, b = torch.relu(self.stem(x)).chunk(2, 1)
        y = torch.cat([self.left(a), torch.relu(self.right(b))], 1)
        n, c, h, w = y.shape
        y = y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return self.fc(y.flatten(1))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(4 + 4 * at, 4, 3, padding=1) for at in range(3))
        self.stem, self.pool, self.fc = nn.Conv2d(1, 4, 3, padding=1), nn.AvgPool2d(2), nn.Linear(16 * 16, 10)

    def forward(self, x: Any) -> Any:
        seen = [torch.relu(self.stem(x))]
        for layer in self.layers:
            seen.append(functional.leaky_relu(layer(torch.cat(seen, 1)), 0.1))
        return self.fc(self.pool(torch.cat(seen, 1)).flatten(1))


class UNet(nn.Module):
    """Two outputs, transposed convolution, interpolation, a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.mid = nn.Conv2d(1, 6, 3, 2, 1), nn.Conv2d(6, 8, 3, 2, 1)
        self.up, self.head = nn.ConvTranspose2d(8, 6, 2, 2), nn.Conv2d(6, 2, 3, padding=1)

    def forward(self, x: Any) -> Any:
        a = torch.relu(self.down(x))
        b = torch.relu(self.mid(a))
        y = self.up(b) + a
        y = functional.interpolate(y, scale_factor=2.0, mode="nearest")
        return {"mask": self.head(y), "features": (b, y.mean((2, 3)))}


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.three, self.pooled = nn.Conv2d(1, 4, 1), nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(1, 4, 1)
        self.fc = nn.Linear(12 * 16, 10)

    def forward(self, x: Any) -> Any:
        pooled = self.pooled(functional.max_pool2d(x, 3, 1, 1))
        y = torch.cat([self.one(x), self.three(x), pooled], 1)
        return self.fc(functional.max_pool2d(torch.relu(y), 2).flatten(1))


class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.squeeze, self.excite = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.fc = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        y = functional.hardswish(self.stem(x))
        gate = functional.hardsigmoid(self.excite(torch.relu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return self.fc((y * gate).mean((2, 3)))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")
        self.fc = nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        return self.fc(self.block(self.embed(x[:, 0])).mean(1))


class Detector(nn.Module):
    """Boxes and scores of two grids, as YOLO decodes them: centres by Sigmoid and offset, sides by Exp and stride."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down = nn.Conv2d(1, 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.heads = nn.ModuleList(nn.Conv2d(8, 7, 1) for _ in range(2))
        for side in (8, 4):
            rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
            self.register_buffer(f"grid{side}", torch.stack([columns, rows])[None].float())

    def forward(self, x: Any) -> Any:
        fine = functional.silu(self.stem(x))
        coarse = functional.silu(self.down(fine))
        found = [self._decoded(head(y)) for head, y in zip(self.heads, (fine, coarse), strict=True)]
        return torch.cat(found, 1)

    def _decoded(self, y: Any) -> Any:
        side = y.shape[-1]
        centres, sides, scores = y.split([2, 2, 3], 1)
        centres = (torch.sigmoid(centres) + getattr(self, f"grid{side}")) * (8 / side)
        joined = torch.cat([centres, torch.exp(sides) * (8 / side), torch.sigmoid(scores)], 1)
        return joined.flatten(2).transpose(1, 2)


class TwoInputs(nn.Module):
    """A pair and a tensor; one convolution is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(8, 10)

    def forward(self, pair: Any, scale: Any) -> Any:
        a, b = (torch.relu(self.conv(each)).mean((2, 3)) for each in pair)
        return self.fc(torch.cat([a, b], 1) * scale)


CLASSIFIERS = (ResNetS, MobileS, Shuffle, Dense, Inception, SqueezeExcite, Transformer)


def example(kind: type, batch: int = 4) -> tuple[Any, ...]:
    """Arguments of a network's forward."""
    images = digits().images
    if kind is TwoInputs:
        return (images[:batch], images[batch : 2 * batch]), torch.linspace(0.5, 1.5, batch)[:, None]
    return (images[:batch],)
