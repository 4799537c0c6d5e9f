"""Trains the demo's network on scikit-learn's digits and writes `digits.onnx` and `digits.npz` beside this file.

`python -m ort_vitis_plugin.demo.train` needs torch and scikit-learn; the package itself needs neither.
Seeds and the number of threads are fixed, so one torch version on one kind of processor writes the same files again.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALIBRATION, EVALUATION = 200, 500
EPOCHS, BATCH, RATE = 60, 32, 6e-3
OPSET, IR_VERSION = 17, 8


class Digits(NamedTuple):
    """8x8 images with pixels 0 to 16, and the digit each shows."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """What the network is fed: N x 1 x 8 x 8 in 0 to 1, and class indices."""
        return torch.from_numpy(self.images[:, None].astype(np.float32) / 16), torch.from_numpy(
            self.labels.astype(np.int64)
        )


def split() -> tuple[Digits, Digits, Digits]:
    """Training, calibration and evaluation digits; no digit is in two of them."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    images, labels = data.images[order].astype(np.uint8), data.target[order].astype(np.uint8)
    cuts = [len(order) - CALIBRATION - EVALUATION, len(order) - EVALUATION]
    parts = zip(np.split(images, cuts), np.split(labels, cuts), strict=True)
    training, calibration, evaluation = (Digits(*part) for part in parts)
    return training, calibration, evaluation


def conv_block(inputs: int, outputs: int, kernel: int = 3, groups: int = 1) -> list[nn.Module]:
    """Convolution that keeps the image size, with its batch normalization."""
    layer = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups, bias=False)
    return [layer, nn.BatchNorm2d(outputs)]


class DigitNet(nn.Module):  # type: ignore[misc]
    """A MobileNet-like residual block, then an Inception-like one, on 8x8 images."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.stem = nn.Sequential(*conv_block(1, width), nn.ReLU6())
        self.residual = nn.Sequential(
            *conv_block(width, 2 * width, 1),
            nn.ReLU6(),
            *conv_block(2 * width, 2 * width, groups=2 * width),
            nn.ReLU6(),
            *conv_block(2 * width, width, 1),
        )
        self.shrink = nn.MaxPool2d(2)
        self.point = nn.Sequential(*conv_block(width, width, 1), nn.ReLU6())
        self.wide = nn.Sequential(
            *conv_block(width, width, groups=width), nn.ReLU6(), *conv_block(width, width, 1), nn.ReLU6()
        )
        self.smooth = nn.AvgPool2d(3, stride=1, padding=1)
        self.mix = nn.Sequential(*conv_block(3 * width, 2 * width), nn.ReLU6())
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 10))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.stem(image)
        x = self.shrink(x + self.residual(x))
        x = torch.cat([self.point(x), self.wide(x), self.smooth(x)], 1)
        return self.head(self.mix(x))


def shifted(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Every image moved by up to one pixel in each direction, at random."""
    padded = functional.pad(images, (1, 1, 1, 1))
    moves = torch.randint(0, 3, (len(images), 2), generator=generator).tolist()
    return torch.stack([image[:, y : y + 8, x : x + 8] for image, (y, x) in zip(padded, moves, strict=True)])


def fit(net: nn.Module, digits: Digits, epochs: int = EPOCHS, rate: float = RATE) -> None:
    """AdamW on the cross entropy of shifted digits, one-cycle learning rate; leaves the network in eval mode."""
    images, labels = digits.tensors()
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(net.parameters(), rate, weight_decay=0.02)
    steps = len(images) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=epochs * steps)
    net.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(images), generator=generator)[: steps * BATCH].split(BATCH):
            loss = functional.cross_entropy(net(shifted(images[batch], generator)), labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net.eval()


def accuracy(net: nn.Module, digits: Digits) -> float:
    """Share of the digits that the network names rightly."""
    images, labels = digits.tensors()
    with torch.no_grad():
        return float((net(images).argmax(1) == labels).float().mean())


def export(net: nn.Module, path: Path, inputs: dict[str, torch.Tensor], *, keep_batch_norm: bool = True) -> None:
    """Writes the network at batch 1; `keep_batch_norm` leaves folding it into the convolutions to the quantizer."""
    mode = torch.onnx.TrainingMode.PRESERVE if keep_batch_norm else torch.onnx.TrainingMode.EVAL
    # The exporter built on torch.export folds the normalizations away, so the older one is asked for.
    torch.onnx.export(
        net,
        tuple(inputs.values()),
        str(path),
        input_names=list(inputs),
        output_names=["logits"],
        opset_version=OPSET,
        dynamo=False,
        training=mode,
        do_constant_folding=not keep_batch_norm,
    )
    model = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True)
    model.ir_version = IR_VERSION
    for node in model.graph.node:
        node.ClearField("doc_string")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def repeatable() -> None:
    """Fixes seeds, threads and algorithms."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def main() -> None:
    repeatable()
    training, calibration, evaluation = split()
    net = DigitNet()
    fit(net, training)
    folder = Path(__file__).parent
    export(net, folder / "digits.onnx", {"image": torch.zeros(1, 1, 8, 8)})
    np.savez_compressed(
        folder / "digits.npz",
        calibration_images=calibration.images,
        evaluation_images=evaluation.images,
        evaluation_labels=evaluation.labels,
    )
    print(f"accuracy on {EVALUATION} unseen digits: {accuracy(net, evaluation):.1%}")


if __name__ == "__main__":
    main()
