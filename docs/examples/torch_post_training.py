"""Post-training quantization of a PyTorch network, with fast fine-tuning, on scikit-learn's digits.

    python torch_post_training.py --quant_mode calib --fast_finetune
    python torch_post_training.py --quant_mode test --fast_finetune

The first run calibrates and fine-tunes; the second evaluates the quantized network and writes it as ONNX.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from ort_vitis_torch import torch_quantizer


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=1)
        self.fc = nn.Linear(16, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.bn1(self.conv1(image)))
        x = torch.relu(self.bn2(self.conv2(x)))
        x = torch.relu(self.conv3(x) + x)
        return self.fc(x.mean((2, 3)))


def load_data() -> tuple[torch.Tensor, torch.Tensor]:
    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    return torch.tensor(data.images[:, None] / 16, dtype=torch.float32)[order], torch.tensor(data.target)[order]


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int = 12) -> nn.Module:
    """Stands in for a network that you have trained already."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for picked in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            functional.cross_entropy(model(images[picked]), labels[picked]).backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def evaluate(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Percent of the images whose digit is found; what calibrates, too."""
    with torch.no_grad():
        right = sum(
            int((model(x).argmax(1) == y).sum()) for x, y in zip(images.split(64), labels.split(64), strict=True)
        )
    return 100 * right / len(images)


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quant_mode", choices=("calib", "test"), required=True)
    parser.add_argument("--fast_finetune", action="store_true")
    parser.add_argument("--bitwidth", type=int, default=8)
    parser.add_argument("--target", default=None)
    parser.add_argument("--output_dir", default="quantize_result")
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    images, labels = load_data()
    model = train(Net(), images[:1200], labels[:1200])
    quantizer = torch_quantizer(
        options.quant_mode,
        model,
        images[:1],
        output_dir=options.output_dir,
        bitwidth=options.bitwidth,
        target=options.target,
    )
    if options.fast_finetune:
        if options.quant_mode == "calib":
            quantizer.fast_finetune(evaluate, (quantizer.quant_model, images[:512], labels[:512]), iterations=100)
        else:
            quantizer.load_ft_param()
    if options.quant_mode == "calib":
        if not options.fast_finetune:
            evaluate(quantizer.quant_model, images[:256], labels[:256])
        quantizer.export_quant_config()
        return 0.0
    accuracy = evaluate(quantizer.quant_model, images[1200:], labels[1200:])
    print(f"float {evaluate(model, images[1200:], labels[1200:]):.2f} %, quantized {accuracy:.2f} %")
    print(f"written: {quantizer.export_onnx_model()}")
    return accuracy


if __name__ == "__main__":
    main()
