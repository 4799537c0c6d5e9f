"""QatProcessor: the quantized graph trains, with thresholds learned beside weights, and is written as it trained."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import ModelProto
from torch import Tensor, nn

from ort_vitis_plugin.api import Report

from . import host_calls
from .config import QuantConfig, configured
from .conv_bn import ConvBN, pairs
from .errors import ExportError, MismatchError, RefusedError, StageError
from .exported import Exported, Exporter, export, unwrapped, watched_call
from .fake import TQT
from .modules import GraphModel, slot_of
from .narrow import limited, narrowed
from .quant_info import QuantInfo, digest, positions_of
from .slots import SlottedGraph, slotted
from .structure import as_arguments, as_array
from .written_file import file_digest, write_exported, write_model

log = logging.getLogger(__name__)

THRESHOLD = "log_threshold"

# Largest difference, relative to the largest weight, at which a folded weight is that of a convolution and its norm.
SAME = 1e-4


class TrainableModel(GraphModel):
    """The quantized graph, to be trained like the module that it came from.

    Its first call sets the starting positions from that batch, unless they were given or loaded.
    """

    started: Tensor

    def __init__(self, processor: QatProcessor, graph: SlottedGraph, *, started: bool) -> None:
        super().__init__(processor.exported, graph, trainable=True)
        self._processor = processor
        self.register_buffer("started", torch.tensor(started))
        self.seen = [dict(zip(self.exported.input_names, self.exported.example, strict=True))]
        self._fold(processor)

    def _fold(self, processor: QatProcessor) -> None:
        """Let each convolution whose norm was folded into it train as the two that they were."""
        self.pairs = nn.ModuleList()
        nodes = {step.node.name: step for step in self.graph.steps}
        sources = {step.node.output[0]: step.node.input[0] for step in self.graph.steps if step.node.name in self.slots}
        for name, pair in processor.kept_pairs().items():
            step = nodes.get(name)
            if step is None or len(step.inputs) < 3:
                continue
            weight, bias = sources.get(step.inputs[1], step.inputs[1]), sources.get(step.inputs[2], step.inputs[2])
            if not {weight, bias} <= set(self.graph.parameter_names):
                continue
            both = ConvBN(pair, step.function)
            if not _is_same(both.folded_weight(), self.graph.parameter(weight)):
                continue
            if not _is_same(both.folded_bias(), self.graph.parameter(bias)):
                continue
            self.pairs.append(both)
            self.graph.derive(weight, both.folded_weight)
            self.graph.derive(bias, both.folded_bias)
            self.graph.replace(name, both, in_training=True)

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        if not self.started:
            self._start(arguments, keywords)
        return super().forward(*arguments, **keywords)

    def _start(self, arguments: Any, keywords: Any) -> None:
        arrays = [as_array(tensor) for tensor in self.exported.tensors(arguments, keywords)]
        self.seen = [dict(zip(self.exported.input_names, arrays, strict=True))]
        graph = self._processor.slotted_for(self.seen)
        for key, slot in graph.slots.items():
            quantizer = self.graph.slots.get(key)
            if isinstance(quantizer, TQT) and slot.is_power_of_two and not slot.scale.ndim:
                quantizer.start_at(slot.position)
                quantizer.zero_point.fill_(float(slot.zero_point))
        self.started.fill_(True)

    def quantizer_parameters(self) -> Iterator[nn.Parameter]:
        """The learned thresholds."""
        return (parameter for name, parameter in self.named_parameters() if THRESHOLD in name)

    def non_quantizer_parameters(self) -> Iterator[nn.Parameter]:
        """Weights, biases and the parameters of norms."""
        return (parameter for name, parameter in self.named_parameters() if THRESHOLD not in name)

    def enable_quant(self) -> None:
        """Quantize."""
        self.enable(quantizers=True)

    def disable_quant(self) -> None:
        """Compute in float."""
        self.enable(quantizers=False)

    def freeze_quant(self) -> None:
        """Thresholds stay as they are from now on."""
        for module in self.graph.slots.values():
            if isinstance(module, TQT):
                module.frozen = True

    def freeze_bn_stats(self) -> None:
        """Norms take their running statistics in training too, so that training computes what is written."""
        for both in self.pairs:
            assert isinstance(both, ConvBN)
            both.frozen = True

    def fuse_conv_bn(self) -> None:
        """The same as ``freeze_bn_stats``: frozen, a convolution and its norm compute as one."""
        self.freeze_bn_stats()


class QatProcessor:
    """Quantization-aware training of ``model``, called with ``inputs`` (a tensor, or a tuple of arguments).

    ``bitwidth``: 8, or 2 to 7 for weights with 8-bit activations. ``device``: where the trainable model lies
    (None: where the model is). Operations that are no modules, and modules that are called more than once, need no
    change: the graph sees every call.

    Raises ExportError, ConfigError, RefusedError, StageError, MismatchError; all are TorchFrontEndErrors.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Any,
        bitwidth: int = 8,
        mix_bit: bool = False,
        device: torch.device | str | None = None,
        *,
        quant_config_file: str | Path | None = None,
        target: str | None = None,
        exporter: Exporter = "auto",
    ) -> None:
        if mix_bit:
            raise RefusedError("mix_bit=True: give layers their bits in quant_config_file (layer_quantize_config)")
        self._module = unwrapped(model)
        config: QuantConfig = configured(bitwidth if quant_config_file is None else None, target, quant_config_file)
        self._arguments = as_arguments(inputs)
        self.exported: Exported = export(self._module, self._arguments, exporter=exporter, opset=config.opset)
        settings = config.settings.with_layers(self.exported.model, config.layers)
        self._settings = settings.within(self.exported.regions)
        self._bits = config.weight_bits
        where = next((parameter.device for parameter in self._module.parameters()), torch.device("cpu"))
        self._device = torch.device(device) if device is not None else where
        self._prepared = host_calls.prepare(self.exported.model, self._settings)
        self._written: ModelProto | None = None
        self._folder = Path("qat_result")
        self.report = Report()

    def trainable_model(self, calib_dir: str | Path = "", allow_reused_module: bool = True) -> TrainableModel:
        """The model to train. ``calib_dir`` holds what ``torch_quantizer`` calibrated, as the positions to start at;
        without it the first batch sets them. ``allow_reused_module=False`` raises RefusedError where a module with
        parameters is called twice."""
        reused = _reused(self._module, self._arguments)
        if reused and not allow_reused_module:
            raise RefusedError(
                f"{', '.join(reused)} is called more than once, with one set of weights; make it two modules, "
                "or leave out allow_reused_module=False"
            )
        if calib_dir:
            written = self._calibrated(Path(calib_dir))
            graph = limited(slotted(written, host_calls.float_weights(self._prepared)), self._bits)
        else:
            example = dict(zip(self.exported.input_names, self.exported.example, strict=True))
            graph = self.slotted_for([example])
        model = TrainableModel(self, graph, started=bool(calib_dir))
        model.to(self._device).train()
        return model

    def slotted_for(self, feeds: list[host_calls.Feed]) -> SlottedGraph:
        """The graph with slots at the positions that these samples give."""
        with host_calls.quiet():  # how good a start is says nothing about the trained model
            unchecked = self._settings.with_options(SelfCheck=False)
            written = host_calls.quantize(self.exported.model, feeds, unchecked)
            written = narrowed(written, self._prepared, self._bits, feeds, self._settings)
        return limited(slotted(written.model, host_calls.float_weights(self._prepared)), self._bits)

    def kept_pairs(self) -> dict[str, Any]:
        """Convolutions with the BatchNormalization behind them; none where the graph cannot be exported with it."""
        try:
            kept = export(self._module, self._arguments, exporter="torchscript", keep_batch_norm=True)
        except ExportError as error:
            log.info("BatchNormalization is folded before training: %s", error)
            return {}
        return pairs(kept.model)

    def to_deployable(self, trained_model: nn.Module, output_dir: str | Path = "qat_result") -> GraphModel:
        """Write ``<Model>.onnx`` and ``quant_info.json`` of a trained model; returns that file's graph in torch."""
        trained = unwrapped(trained_model)
        if not isinstance(trained, TrainableModel):
            raise StageError("to_deployable takes what trainable_model() returned, after training")
        slots = [slot_of(slot, trained.graph.slots[key]) for key, slot in trained.slots.items()]
        weights = {
            name: trained.graph.parameter(held).detach().cpu().numpy() for name, held in trained.constants.items()
        }
        written = host_calls.rewrite(self._prepared, weights, slots, trained.seen, self._settings)
        self._written, self.report = written.model, written.report
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        path = write_model(written.model, folder / f"{self.exported.name}.onnx")
        QuantInfo(
            digest(self.exported.model),
            file_digest(path),
            {"bitwidth": str(self._bits)},
            positions_of(written.model),
        ).save(folder)
        self._folder = folder
        return self._deployable(written.model)

    def deployable_model(self, src_dir: str | Path, used_for_xmodel: bool = False) -> GraphModel:
        """What ``to_deployable`` wrote into a folder, as a model; raises StageError where it did not."""
        if used_for_xmodel:
            raise RefusedError("used_for_xmodel=True needs XIR, which is not used here: use export_onnx_model()")
        path = Path(src_dir) / f"{self.exported.name}.onnx"
        if not path.exists():
            raise StageError(f"there is no {path}: call to_deployable(trained_model, {str(src_dir)!r}) first")
        self._written, self._folder = onnx.load(str(path)), Path(src_dir)
        return self._deployable(self._written)

    def export_onnx_model(self, output_dir: str | Path | None = None, native_onnx: bool = True) -> Path:
        """Write ``<Model>.onnx``, and the same as ``<Model>_int.onnx``; returns the former's path.

        ``output_dir`` is by default that of ``to_deployable``, which must have run.
        """
        if self._written is None:
            raise StageError("nothing was trained yet: call to_deployable(trained_model, output_dir) first")
        folder = self._folder if output_dir is None else Path(output_dir)
        return write_exported(self._written, folder, self.exported.name, native_onnx=native_onnx)

    def _deployable(self, written: ModelProto) -> GraphModel:
        model = GraphModel(self.exported, slotted(written))
        model.to(self._device).eval()
        return model

    def _calibrated(self, folder: Path) -> ModelProto:
        info = QuantInfo.load(folder)
        info.check_graph(self.exported.model, self.exported.name)
        path = folder / f"{self.exported.name}.onnx"
        if not path.exists():
            raise MismatchError(
                f"{path}, which calibration wrote beside quant_info.json, is not there; calibrate again"
            )
        if file_digest(path) != info.file:
            raise MismatchError(f"{path}, which calibration wrote beside quant_info.json, was changed; calibrate again")
        return onnx.load(str(path))


def _is_same(a: Tensor, b: Tensor) -> bool:
    a, b = a.detach(), b.detach()
    return a.shape == b.shape and float((a - b).abs().max()) <= SAME * float(b.abs().max())


def _reused(module: nn.Module, arguments: tuple[Any, ...]) -> list[str]:
    """Modules with parameters that one call of the whole calls more than once."""
    calls: Counter[str] = Counter()
    watched_call(module, arguments, lambda name: calls.update([name]))
    parts = dict(module.named_modules())
    return [name for name, count in calls.items() if count > 1 and [*parts[name].parameters(recurse=False)]]
