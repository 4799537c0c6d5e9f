"""torchvision's classifiers, with random weights, in the torch executor: python -m tests.benchmarks.bench_torchvision

For each, or for those named: the largest difference relative to the largest output, and the time in shares of the
module's own, on one thread, calls in turn. Exits with 1 where a difference is above 1e-4 or a share above 1.3.
``--largest`` (millions of parameters) leaves larger ones out, and says which: regnet_y_128gf and vit_h_14 need 8 GB of
memory each. ``--side`` is that of the pictures.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from typing import Any

import torch
import torchvision
from torch import nn

from tests.benchmarks.bench_torch_executor import DIFFERENCE, MOST, measured

# Pictures of transformers whose sizes are fixed, and of the networks that need larger ones than others.
FIXED, LEAST = 224, {"inception_v3": 128}
MILLION = 1e6


def network(name: str, side: int) -> tuple[nn.Module, torch.Tensor]:
    """A classifier with random weights, and a picture for it."""
    options: dict[str, Any] = {}
    family = name.partition("_")[0]
    if name == "maxvit_t":
        side, options = FIXED, {"input_size": (FIXED, FIXED)}
    elif family == "vit":
        side = FIXED
    side = max(side, LEAST.get(name, 0))
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torchvision.models.get_model(name, weights=None, **options)
    if family == "vit":
        nn.init.normal_(module.heads.head.weight, std=0.02)  # torchvision starts it at zero: all outputs would be
    return module, torch.randn(1, 3, side, side)


def parameters(name: str) -> float:
    """Millions of parameters of a classifier, as torchvision states them."""
    return float(torchvision.models.get_model_weights(name).DEFAULT.meta["num_params"]) / MILLION


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=torchvision.models.list_models(module=torchvision.models))
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--largest", type=float, default=1000)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    fails = []
    for name in asked.names:
        size = parameters(name)
        if size > asked.largest:
            print(f"{name:22} {size:6.1f}M left out", flush=True)
            continue
        module, x = network(name, asked.side)
        difference, native, ours = measured(module, x, asked.runs)
        print(
            f"{name:22} {size:6.1f}M {difference:.1e} apart, {native * 1e3:8.2f} ms, {ours / native:.2f} of it",
            flush=True,
        )
        if not difference <= DIFFERENCE or ours > MOST * native:  # outputs of zeros alone show nothing
            fails.append(name)
        del module
        gc.collect()
    print(f"{len(asked.names)} classifiers, not within bounds: {', '.join(fails) or 'none'}")
    return int(bool(fails))


if __name__ == "__main__":
    sys.exit(main())
