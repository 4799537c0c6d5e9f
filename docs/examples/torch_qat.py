"""Quantization-aware training of a PyTorch network with 3-bit weights, on scikit-learn's digits.

python torch_qat.py --bitwidth 3
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse

import torch
from torch.nn import functional
from torch_post_training import Net, evaluate, load_data, train

from ort_vitis_torch import QatProcessor


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bitwidth", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--output_dir", default="qat_result")
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    images, labels = load_data()
    model = train(Net(), images[:1200], labels[:1200])

    processor = QatProcessor(model, images[:1], bitwidth=options.bitwidth)
    quantized = processor.trainable_model()
    quantized.eval()
    quantized(images[:256])  # the first batch sets the positions to start at
    before = evaluate(quantized, images[1200:], labels[1200:])

    optimizer = torch.optim.Adam(
        [
            {"params": quantized.quantizer_parameters(), "lr": 1e-2},
            {"params": quantized.non_quantizer_parameters(), "lr": 1e-3},
        ]
    )
    steps = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    quantized.train()
    for epoch in range(options.epochs):
        if epoch == options.epochs - 1:
            quantized.freeze_bn_stats()  # from here on training computes what the file will
        for picked in torch.randperm(1200).split(64):
            optimizer.zero_grad()
            functional.cross_entropy(quantized(images[picked]), labels[picked]).backward()
            optimizer.step()
        steps.step()

    deployable = processor.to_deployable(quantized.eval(), options.output_dir)
    accuracy = evaluate(deployable, images[1200:], labels[1200:])
    print(f"{options.bitwidth} bits: {before:.2f} % before training, {accuracy:.2f} % after")
    print(f"written: {processor.export_onnx_model()}")
    return accuracy


if __name__ == "__main__":
    main()
