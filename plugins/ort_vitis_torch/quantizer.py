"""torch_quantizer: a module in; calibrated, tested and exported through the graph that it exports to.

In 'calib' the caller's loop runs the float module and its inputs are kept; quantization is then that of the ONNX flow
on those inputs, so the written file is the same. In 'test' the loop runs that file's graph in torch.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import ModelProto
from torch import nn

from ort_vitis_plugin.api import default_opset

from . import host_calls
from .config import configured
from .errors import RefusedError, StageError
from .exported import Exported, Exporter, export, unwrapped
from .finetune import FinetuneOptions, finetuned
from .modules import GraphModel
from .narrow import quantized
from .quant_info import QuantInfo, digest, positions_of
from .slots import slotted
from .state_file import with_state
from .structure import as_arguments, as_array
from .written_file import file_digest, write_exported, write_model

log = logging.getLogger(__name__)

MODES = ("calib", "test")


class CalibrationModel(nn.Module):
    """The float module; what it is called with is kept for calibration, results come back as they are."""

    def __init__(self, module: nn.Module, exported: Exported) -> None:
        super().__init__()
        self.module, self._exported = module, exported
        self.feeds: list[host_calls.Feed] = []

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        tensors = self._exported.tensors(arguments, keywords)
        arrays = [as_array(tensor) for tensor in tensors]
        self.feeds.append(dict(zip(self._exported.input_names, arrays, strict=True)))
        with torch.no_grad():
            return self.module(*self._exported.arguments(arguments, keywords))


class TorchQuantizer:
    """What ``torch_quantizer`` returns."""

    def __init__(
        self,
        mode: str,
        module: nn.Module,
        exported: Exported,
        *,
        output_dir: Path,
        device: torch.device,
        config: Any,
        request: dict[str, str],
    ) -> None:
        self._mode, self._exported, self._output_dir = mode, exported, output_dir
        self._device, self._config, self._request = device, config, request
        self._settings: host_calls.Settings = config.settings.within(exported.regions)
        self._written: ModelProto | None = None
        self._is_finetuned = False
        self._model: nn.Module
        if mode == "calib":
            self._model = CalibrationModel(copy.deepcopy(module).eval(), exported).eval().to(device)
        else:
            self._info = QuantInfo.load(output_dir)
            self._info.check_graph(exported.model, exported.name)
            self._info.check_request(request)
            self._written = self._load()
            self._model = self._quantized()

    @property
    def quant_model(self) -> nn.Module:
        """The module to run in your own loop: it takes and gives what the float module does, in any batch size."""
        return self._model

    def fast_finetune(self, run_fn: Callable[..., Any], run_args: tuple[Any, ...], **options: Any) -> None:
        """Move weights and biases so that each layer gives what it gave in float; ``run_fn(*run_args)`` feeds the data.

        ``run_fn`` calls ``quant_model`` as in calibration; it is called once. ``options`` are those of
        FinetuneOptions. In 'test' mode nothing is done, with a warning: ``load_ft_param`` is for that.
        """
        if self._mode == "test":
            warnings.warn("fast_finetune does nothing in 'test' mode; call load_ft_param()", UserWarning, stacklevel=2)
            return
        chosen = FinetuneOptions(**options)
        run_fn(*run_args)
        feeds, bits = self._feeds(), self._config.weight_bits
        self._written = finetuned(self._exported.model, feeds, self._settings, chosen, bits).model
        self._is_finetuned = True

    def load_ft_param(self) -> None:
        """Take what ``fast_finetune`` found in 'calib' mode; raises StageError where it did not run."""
        if self._mode == "calib":
            raise StageError("load_ft_param is for quant_mode='test'; in 'calib' call fast_finetune")
        if not self._info.fast_finetuned:
            raise StageError(
                f"{self._output_dir} holds no fine-tuned weights: call fast_finetune in 'calib' mode, "
                "then export_quant_config()"
            )

    def export_quant_config(self) -> Path:
        """Quantize with what was calibrated; write ``quant_info.json`` and the quantized model. Returns the former.

        Raises StageError before the first forward pass.
        """
        if self._mode == "test":
            return self._output_dir / "quant_info.json"
        written = self._calibrated()
        self._output_dir.mkdir(parents=True, exist_ok=True)
        path = write_model(written, self._output_dir / f"{self._exported.name}.onnx")
        info = QuantInfo(
            digest(self._exported.model),
            file_digest(path),
            self._request,
            positions_of(written),
            self._is_finetuned,
            self._settings.is_on("BiasCorrection"),
        )
        return info.save(self._output_dir)

    def export_onnx_model(
        self,
        output_dir: str | Path | None = None,
        verbose: bool = False,
        dynamic_batch: bool = True,
        opset_version: int | None = None,
        native_onnx: bool = True,
        dump_layers: bool = False,
        check_model: bool = False,
        opt_graph: bool = False,
    ) -> Path:
        """Write ``<Model>.onnx``, and the same as ``<Model>_int.onnx``, into ``output_dir``; returns the former's path.

        ``dynamic_batch=False`` fixes the batch to that of ``input_args``; ``native_onnx=False`` writes Vitis
        operators in place of ONNX's own pairs; ``check_model`` compares the file in onnxruntime with this model in
        torch; ``opset_version`` must be that of the graph. ``dump_layers`` and ``opt_graph`` are refused:
        ``ort-vitis dump`` writes layers, and the graph is optimized already.
        """
        if dump_layers or opt_graph:
            wanted = (
                "dump_layers=True: use `ort-vitis dump`" if dump_layers else "opt_graph=True: the graph is optimized"
            )
            raise RefusedError(f"{wanted}; leave the argument out")
        written = self._calibrated()
        opset = default_opset(written)
        if opset_version is not None and opset_version != opset:
            raise RefusedError(
                f"opset_version={opset_version}: the graph was exported and calibrated at opset {opset}; give "
                "onnx_opset_version in quant_config_file, or opset= to torch_quantizer"
            )
        if not dynamic_batch:
            written = _fixed_batch(written, self._exported)
        if check_model:
            self._check(written)
        folder = self._output_dir if output_dir is None else Path(output_dir)
        path = write_exported(written, folder, self._exported.name, native_onnx=native_onnx)
        if verbose:
            log.info("wrote %s", path)
        return path

    def export_torch_script(self, output_dir: str | Path | None = None, verbose: bool = False) -> Path:
        """Write ``<Model>_int.pt`` for the batch of ``input_args``; torch.jit.load reads it without this package."""
        model = self._quantized()
        example = [torch.from_numpy(array) for array in _example(self._exported)]
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(model.graph.cpu().eval().requires_grad_(False), example, check_trace=False)
        folder = self._output_dir if output_dir is None else Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._exported.name}_int.pt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.jit.save(traced, str(path))
        return path

    def export_xmodel(self, *arguments: Any, **keywords: Any) -> None:
        """Refused: there is no XIR here."""
        raise RefusedError("export_xmodel needs XIR, which is not used here: use export_onnx_model()")

    def quantize(self, run_fn: Callable[..., Any], run_args: tuple[Any, ...], ft_run_args: Any = None) -> None:
        """Calibrate, and fine-tune where ``ft_run_args`` are given, in one call."""
        if ft_run_args is not None:
            self.fast_finetune(run_fn, ft_run_args)
        else:
            run_fn(*run_args)
        self.export_quant_config()

    def _feeds(self) -> list[host_calls.Feed]:
        assert isinstance(self._model, CalibrationModel)
        if not self._model.feeds:
            raise StageError("calibration saw no data: run quantizer.quant_model on calibration data first")
        return self._model.feeds

    def _calibrated(self) -> ModelProto:
        if self._written is None:
            bits = self._config.weight_bits
            self._written = quantized(self._exported.model, self._feeds(), self._settings, bits).model
        return self._written

    def _quantized(self) -> GraphModel:
        model = GraphModel(self._exported, slotted(self._calibrated()))
        model.to(self._device).eval()
        return model

    def _load(self) -> ModelProto:
        path = self._output_dir / f"{self._exported.name}.onnx"
        if not path.exists() or file_digest(path) != self._info.file:
            state = "is not there" if not path.exists() else "was changed"
            raise StageError(f"{path}, which calibration wrote beside quant_info.json, {state}; calibrate again")
        return onnx.load(str(path))

    def _check(self, written: ModelProto) -> None:
        from .engine_check import check_against_onnxruntime

        check_against_onnxruntime(written, self._quantized(), _example(self._exported))


def _example(exported: Exported) -> list[np.ndarray[Any, Any]]:
    return [array.copy() for array in exported.example]


def _fixed_batch(model: ModelProto, exported: Exported) -> ModelProto:
    size = next((array.shape[0] for array in exported.example if array.ndim), 1)
    changed = ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "batch":
                dim.dim_value = size
    return changed


def torch_quantizer(
    quant_mode: str | int,
    module: nn.Module,
    input_args: Any = None,
    state_dict_file: str | Path | None = None,
    output_dir: str | Path = "quantize_result",
    bitwidth: int | None = None,
    device: torch.device | str | None = None,
    quant_config_file: str | Path | None = None,
    target: str | None = None,
    *,
    exporter: Exporter = "auto",
    opset: int | None = None,
    mix_bit: bool = False,
    lstm: bool = False,
    app_deploy: str = "CV",
    dynamo: bool = False,
) -> TorchQuantizer:
    """A quantizer of ``module``; ``quant_mode`` is 'calib' first, then 'test'.

    ``input_args`` is a tensor, or a tuple of the arguments of ``forward``; only its structure and shapes count, and
    batches may have any size afterwards. ``bitwidth``: 8, 16, or 2 to 7 for weights with 8-bit activations.
    ``device``: where ``quant_model`` runs (None: where the module is). ``target``: a device by name;
    ``AMD_AIE2_Nx4_Overlay_cfg0`` is the NPU's CNN engine. Results lie in ``output_dir``.

    Raises ExportError, ConfigError, StageError, MismatchError, RefusedError; all are TorchFrontEndErrors.
    """
    _refuse(mix_bit=mix_bit, lstm=lstm, app_deploy=app_deploy, dynamo=dynamo)
    mode = _mode(quant_mode)
    if input_args is None:
        raise StageError("input_args is needed: a tensor or a tuple of what forward takes, of which shapes count")
    module = unwrapped(module)
    if state_dict_file is not None:
        module = with_state(module, state_dict_file)
    config = configured(bitwidth, target, quant_config_file)
    exported = export(module, as_arguments(input_args), exporter=exporter, opset=opset or config.opset)
    settings = config.settings.with_layers(exported.model, config.layers)
    request = {
        "bitwidth": str(config.weight_bits if config.weight_bits < 8 else bitwidth or 8),
        "target": str(target),
        "quant_config": file_digest(Path(quant_config_file)) if quant_config_file is not None else "None",
    }
    return TorchQuantizer(
        mode,
        module,
        exported,
        output_dir=Path(output_dir),
        device=_device(device, module),
        config=config.with_settings(settings),
        request=request,
    )


def _refuse(*, mix_bit: bool, lstm: bool, app_deploy: str, dynamo: bool) -> None:
    if mix_bit:
        raise RefusedError("mix_bit=True: give layers their bits in quant_config_file (layer_quantize_config)")
    if lstm:
        raise RefusedError("lstm=True: recurrent bodies stay float; quantize the module without it")
    if app_deploy != "CV":
        raise RefusedError(f"app_deploy={app_deploy!r}: there is one flow for all models; leave it out")
    if dynamo:
        raise RefusedError(
            'dynamo=True compiles with TorchDynamo, which is not used here; exporter="dynamo" exports with it'
        )


def _mode(quant_mode: str | int) -> str:
    if quant_mode in (1, 2):
        warnings.warn(
            f"quant_mode={quant_mode} is deprecated: write {MODES[int(quant_mode) - 1]!r}",
            DeprecationWarning,
            stacklevel=3,
        )
        return MODES[int(quant_mode) - 1]
    if quant_mode not in MODES:
        raise StageError(f"quant_mode={quant_mode!r}: there are 'calib' and 'test'")
    return str(quant_mode)


def _device(device: torch.device | str | None, module: nn.Module) -> torch.device:
    if device is None:
        return next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    asked = torch.device(device)
    if asked.type == "cuda" and not torch.cuda.is_available():
        warnings.warn(f"device={device}: there is no CUDA device; the CPU is used", UserWarning, stacklevel=3)
        return torch.device("cpu")
    return asked
