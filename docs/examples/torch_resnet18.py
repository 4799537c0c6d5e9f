"""Post-training quantization of torchvision's ResNet-18 with your weights and your folder of images.

    python torch_resnet18.py --weights resnet18.pth --data_dir imagenet/val --quant_mode calib
    python torch_resnet18.py --weights resnet18.pth --data_dir imagenet/val --quant_mode test

``data_dir`` has one folder for each class, in the order of the classes. Needs torchvision.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from typing import Any

import torch

from ort_vitis_torch import torch_quantizer

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def load_data(folder: str, count: int, batch_size: int) -> Any:
    from torchvision import datasets, transforms

    steps = [transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()]
    images = datasets.ImageFolder(folder, transforms.Compose([*steps, transforms.Normalize(MEAN, DEVIATION)]))
    picked = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[:count].tolist()
    return torch.utils.data.DataLoader(torch.utils.data.Subset(images, picked), batch_size)


def evaluate(model: torch.nn.Module, loader: Any, device: torch.device) -> float:
    right = count = 0
    with torch.no_grad():
        for images, labels in loader:
            right += int((model(images.to(device)).argmax(1).cpu() == labels).sum())
            count += len(labels)
    return 100 * right / count


def main() -> None:
    from torchvision.models import resnet18

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--quant_mode", choices=("calib", "test"), required=True)
    parser.add_argument("--fast_finetune", action="store_true")
    parser.add_argument("--target", default="AMD_AIE2_Nx4_Overlay_cfg0")
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--subset_len", type=int, default=1000)
    options = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = resnet18()
    model.load_state_dict(torch.load(options.weights, map_location="cpu", weights_only=True))
    model = model.eval().to(device)
    loader = load_data(options.data_dir, options.subset_len, options.batch_size)
    example = torch.randn(options.batch_size, 3, 224, 224)
    quantizer = torch_quantizer(options.quant_mode, model, example, device=device, target=options.target)
    if options.quant_mode == "calib":
        if options.fast_finetune:
            quantizer.fast_finetune(evaluate, (quantizer.quant_model, loader, device))
        else:
            evaluate(quantizer.quant_model, loader, device)
        quantizer.export_quant_config()
        return
    if options.fast_finetune:
        quantizer.load_ft_param()
    print(f"quantized {evaluate(quantizer.quant_model, loader, device):.2f} %")
    print(f"written: {quantizer.export_onnx_model()}")


if __name__ == "__main__":
    main()
