"""Whatever stands in a row, equalization keeps what the graph computes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.testing import check_transform, graph, plain_context
from ort_vitis_prepare.cle.equalize import equalize


def chain(seed: int) -> ModelProto:
    """A row of random layers and what lies between them, with branches and outputs in between."""
    generator = np.random.default_rng(seed)
    constants: dict[str, np.ndarray] = {"pads": np.array([0, 0, 1, 0, 0, 0, 1, 2]), "flat": np.array([0, -1])}
    body: list[str] = []
    outputs = ["float[] y"]
    channels, tensor = 4, "x"

    def weights(name: str, *shape: int) -> str:
        spread = 10.0 ** generator.uniform(-1.5, 1.0, (shape[0], *[1] * (len(shape) - 1)))
        constants[name] = (generator.standard_normal(shape) * spread).astype(np.float32)
        return name

    for number in range(int(generator.integers(3, 9))):
        out, kind = f"t{number}", str(generator.choice(["Conv", "grouped", "depthwise", "ConvTranspose"]))
        bias = f", {weights(f'b{number}', channels)}" if generator.random() < 0.7 else ""
        if kind == "ConvTranspose":
            body.append(f"{out} = ConvTranspose({tensor}, {weights(f'w{number}', channels, channels, 1, 1)}{bias})")
        else:
            group = {"Conv": 1, "grouped": 2, "depthwise": channels}[kind]
            w = weights(f"w{number}", channels, channels // group, 3, 3)
            body.append(f"{out} = Conv<group = {group}, pads = [1, 1, 1, 1]>({tensor}, {w}{bias})")
        tensor = out
        between = str(
            generator.choice(
                ["", "Relu", "LeakyRelu", "PRelu", "MaxPool", "AveragePool", "Pad", "Sigmoid", "branch", "output"]
            )
        )
        if between in ("Relu", "LeakyRelu", "Sigmoid"):
            body.append(f"a{number} = {between}({tensor})")
        elif between == "PRelu":
            body.append(f"a{number} = PRelu({tensor}, {weights(f's{number}', channels, 1, 1)})")
        elif between in ("MaxPool", "AveragePool"):
            body.append(f"a{number} = {between}<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>({tensor})")
        elif between == "Pad":
            constants[f"v{number}"] = np.array(generator.choice([0.0, 1.0]), np.float32)
            mode = generator.choice(["constant", "reflect", "edge"])
            body.append(f'a{number} = Pad<mode = "{mode}">({tensor}, pads, v{number})')
        elif between == "branch":
            body.append(f"r{number} = Relu({tensor}) a{number} = Add({tensor}, r{number})")
        elif between == "output":
            body.append(f"a{number} = Relu({tensor})")
            outputs.append(f"float[] {tensor}")
        else:
            continue
        tensor = f"a{number}"
    body.append(f"p = GlobalAveragePool({tensor}) f = Reshape(p, flat)")
    body.append(f"y = Gemm(f, {weights('g', channels, 3)})")
    return graph(f"t (float[1, 4, 6, 6] x) => ({', '.join(outputs)}) {{ {' '.join(body)} }}", 17, constants)


@pytest.mark.parametrize("seed", range(40))
def test_function_is_kept(seed: int) -> None:
    settled: dict[str, object] = {"CLESteps": -1, "CLEScaleUseThreshold": False, "CLETotalLayerDiffThreshold": 1e-6}
    check_transform(equalize, chain(seed), plain_context(IncludeCLE=True, **settled), tolerance=1e-4)
