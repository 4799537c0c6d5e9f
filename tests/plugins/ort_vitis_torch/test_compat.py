"""The manual's code blocks under the original's names, as printed, model and data aside."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

import ort_vitis_torch  # noqa: E402
from ort_vitis_plugin.compat import install, uninstall  # noqa: E402

from .networks import ResNetS, accuracy, digits, trained  # noqa: E402

IMPORTS = """
from pytorch_nndct.apis import torch_quantizer, dump_xmodel
from pytorch_nndct.nn import QuantStub, DeQuantStub
from pytorch_nndct import QatProcessor
"""

POST_TRAINING = """
input = torch.randn([batch_size, 1, 8, 8])
quantizer = torch_quantizer(quant_mode, model, (input))
quant_model = quantizer.quant_model

# fast finetune model or load finetuned parameter before test
if fast_finetune == True:
    ft_loader, _ = load_data(
               subset_len=5120,
               train=False,
               batch_size=batch_size,
               sample_method='random',
               data_dir=args.data_dir,
               model_name=model_name)

    if quant_mode == 'calib':
        quantizer.fast_finetune(evaluate, (quant_model, ft_loader, loss_fn))
    elif quant_mode == 'test':
        quantizer.load_ft_param()

acc1_gen, acc5_gen, loss_gen = evaluate(quant_model, val_loader, loss_fn)
quantizer.export_quant_config()
quantizer.export_onnx_model()
"""

FAST_FINE_TUNING = """
# fast finetune model or load finetuned parameter before test

if fast_finetune == True:
    ft_loader, _ = load_data(
               subset_len=5120,
               train=False,
               batch_size=batch_size,
               sample_method='random',
               data_dir=args.data_dir,
               model_name=model_name)

if quant_mode == 'calib':
    quantizer.fast_finetune(evaluate, (quant_model, ft_loader, loss_fn))
elif quant_mode == 'test':
    quantizer.load_ft_param()
"""

PARTIAL = """
from pytorch_nndct.nn import QuantStub, DeQuantStub

class WholeModule(torch.nn.module):
   def __init__(self,...):
      self.subm0 = ...
      self.subm1 = ...
      self.subm2 = ...

      # define QuantStub/DeQuantStub submodules
      self.quant = QuantStub()
      self.dequant = DeQuantStub()

   def forward(self, input):
       input = self.quant(input) # begin of part to be quantized
       output0 = self.subm0(input)
       output0 = self.dequant(output0) # end of part to be quantized

       output1 = self.subm1(output0)

       output1 = self.quant(output1) # begin of part to be quantized
       output2 = self.subm2(output1)
       output2 = self.dequant(output2) # end of part to be quantized
"""

# What is printed there is no Python, leaves its parts out, and returns nothing.
COMPLETED = {
    "torch.nn.module": "torch.nn.Module",
    "(self,...)": "(self)",
    "self.subm0 = ...": "super().__init__(); self.subm0 = torch.nn.Conv2d(1, 2, 1)",
    "self.subm1 = ...": "self.subm1 = torch.nn.Conv2d(2, 2, 1)",
    "self.subm2 = ...": "self.subm2 = torch.nn.Conv2d(2, 2, 1)",
    "output2 = self.dequant(output2)": "return self.dequant(output2)",
}

HARDWARE_AWARE = """
quantizer = torch_quantizer(quant_mode=quant_mode,
                            module=model,
                            input_args=(input),
                            device=device,
                            quant_config_file=config_file,
                            target=target)
quantizer.quant_model(input)
"""

TRAINING = """
qat_processor = QatProcessor(model, inputs, bitwidth=8)
quantized_model = qat_processor.trainable_model()
optimizer = torch.optim.Adam(
                  quantized_model.parameters(),
                  lr,
                   weight_decay=weight_decay)
quantized_model(inputs).sum().backward()
optimizer.step()

output_dir = 'qat_result'
deployable_model = qat_processor.to_deployable(quantized_model,output_dir)
validate(val_loader, deployable_model, criterion, gpu)
qat_processor.export_onnx_model()
"""


@pytest.fixture(autouse=True)
def _old_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    arguments = ["script.py", "--nndct_equalization", "--data_dir", "."]
    monkeypatch.setattr("sys.argv", arguments.copy())
    monkeypatch.chdir(tmp_path)
    install("pytorch_nndct")
    yield
    uninstall("pytorch_nndct")
    assert sys.argv == arguments  # the original takes its flags out, and stops at those that it does not know


def evaluate(model: Any, loader: Any, loss_fn: Any) -> tuple[float, float, float]:
    for batch in loader:
        model(batch)
    return 0.0, 0.0, 0.0


def names(**more: Any) -> dict[str, Any]:
    loader = digits().images[:128].split(32)

    def load_data(**_: Any) -> Any:
        return loader, None

    given: dict[str, Any] = {"torch": torch, "model": trained(ResNetS), "batch_size": 8, "val_loader": loader}
    given |= {"evaluate": evaluate, "loss_fn": None, "load_data": load_data, "fast_finetune": False}
    return {**given, "args": type("Args", (), {"data_dir": "."}), "model_name": "", **more}


def test_post_training_runs_as_printed_in_both_modes() -> None:
    for mode in ("calib", "test"):
        scope = names(quant_mode=mode)
        exec(IMPORTS + POST_TRAINING, scope)
    assert {path.name for path in Path("quantize_result").iterdir()} >= {"ResNetS.onnx", "quant_info.json"}
    assert accuracy(scope["quant_model"]) >= accuracy(trained(ResNetS)) - 0.5


@pytest.mark.slow
def test_fast_fine_tuning_runs_as_printed() -> None:
    start, _, rest = POST_TRAINING.partition("# fast finetune")
    end = rest[rest.index("acc1_gen") :]
    for mode in ("calib", "test"):
        scope = names(quant_mode=mode, fast_finetune=True)
        for block in (IMPORTS, start, FAST_FINE_TUNING, end):
            exec(block, scope)
    assert accuracy(scope["quant_model"]) >= accuracy(trained(ResNetS)) - 0.5


def test_partial_quantization_quantizes_what_the_printed_stubs_enclose() -> None:
    block = PARTIAL
    for printed, completed in COMPLETED.items():
        assert printed in block
        block = block.replace(printed, completed)
    scope = names()
    exec(IMPORTS + block, scope)
    quantizer = scope["torch_quantizer"]("calib", scope["WholeModule"](), digits().images[:4])
    for batch in scope["val_loader"]:
        quantizer.quant_model(batch)
    graph = onnx.load(quantizer.export_onnx_model()).graph
    makers = {name: node.op_type for node in graph.node for name in node.output}
    convolutions = [node for node in graph.node if node.op_type == "Conv"]
    assert [makers.get(node.input[1]) for node in convolutions] == ["DequantizeLinear", None, "DequantizeLinear"]


def test_hardware_aware_quantization_runs_as_printed() -> None:
    target = "AMD_AIE2_Nx4_Overlay_cfg0"
    scope = names(quant_mode="calib", device=torch.device("cpu"), config_file=None, target=target)
    exec(IMPORTS + HARDWARE_AWARE, {**scope, "input": digits().images[:8]})


def test_training_runs_as_printed() -> None:
    scope = names(inputs=digits().images[:8], lr=1e-4, weight_decay=1e-4, criterion=None, gpu=None)
    exec(IMPORTS + TRAINING, {**scope, "validate": lambda loader, model, criterion, gpu: evaluate(model, loader, None)})
    assert Path("qat_result/ResNetS.onnx").exists()


def test_all_functional_modules_are_there_and_compute() -> None:
    from pytorch_nndct.nn.modules import functional  # type: ignore[import-not-found]

    x, y = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 4.0]])
    assert functional.Add()(x, y).tolist() == [[4, 2]]
    assert functional.Sub()(x, y).tolist() == [[-2, -6]]
    assert functional.AddScalar()(x, 1).tolist() == [[2, -1]]
    assert functional.Mul()(x, y).tolist() == [[3, -8]]
    assert functional.Cat()([x, y], 1).tolist() == [[1, -2, 3, 4]]
    assert functional.Matmul()(x, y.t()).tolist() == [[-5]]
    assert functional.Max()(x).item() == 1
    assert functional.Sum()(x).item() == -1
    assert functional.Mean()(y, 1).tolist() == [3.5]
    assert functional.Clamp()(x, -1, 0.5).tolist() == [[0.5, -1]]
    assert functional.Transpose()(x, 0, 1).shape == (2, 1)
    assert functional.Sqrt()(y).tolist()[0][1] == 2
    assert functional.Softmax(1)(x).sum().item() == pytest.approx(1)
    assert functional.Pad()(x, (1, 0)).shape == (1, 3)
    assert functional.Const()([1.0]).tolist() == [1]
    assert functional.Interpolate()(x[None], scale_factor=2.0).shape == (1, 1, 4)
    assert functional.Upsample(scale_factor=2)(x[None]).shape == (1, 1, 4)


def test_what_has_no_meaning_here_is_refused_with_what_to_write() -> None:
    from pytorch_nndct.apis import dump_xmodel, load_vai_ops  # type: ignore[import-not-found]
    from pytorch_nndct.utils import register_custom_op  # type: ignore[import-not-found]

    with pytest.raises(ort_vitis_torch.RefusedError, match="export_onnx_model"):
        dump_xmodel()
    with pytest.raises(ort_vitis_torch.RefusedError, match="leave the call out"):
        load_vai_ops()
    with pytest.raises(ort_vitis_torch.RefusedError, match=r"ort_vitis_torch\.operator"):
        register_custom_op("Cube")
