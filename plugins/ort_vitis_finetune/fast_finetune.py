"""``extra_options={"FastFinetune": {...}}``: the keys that AMD's Quark has, as far as they mean something here.

Quark trains rounding by gradient descent. What this plugin brings trains nothing, so that numbers of steps have no
meaning: who gives them is told so, once. AdaRound and AdaQuant, which the PyTorch plugin brings, read them.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import difflib
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ort_vitis_plugin.api import OptionError, UnsupportedError

from .candidates import HESSIAN, ONLY_BIAS
from .settings import FinetuneSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ort_vitis_plugin.api import WeightRounding

_log = logging.getLogger(__name__)

KEY = "FastFinetune"
ALGORITHM = "OptimAlgorithm"
ALGORITHMS = {"hessian": HESSIAN, "bias": ONLY_BIAS}
WITH_TORCH = ("adaround", "adaquant")

# Quark's key -> why it does nothing here.
WITHOUT_MEANING = {
    "NumIterations": "nothing is trained: rounding ends when no weight moves any more",
    "NumBatches": "every sample is looked at once",
    "BatchSize": "samples come as the reader gives them",
    "LearningRate": "nothing is trained",
    "EarlyStop": "rounding ends when no weight moves any more",
    "LRAdjust": "nothing is trained",
    "RegParam": "nothing is trained",
    "BetaRange": "nothing is trained",
    "WarmStart": "nothing is trained",
    "DropRatio": "every layer sees the quantized network's input and the float network's output",
    "SelectiveUpdate": "every layer and the network are always guarded by held-out samples",
    "UpdateBias": "biases always follow their weights",
    "OptimDevice": "it runs on the CPU",
    "InferDevice": "it runs on the CPU",
    "MemOptLevel": "tensors go to files beyond MemoryLimit",
    "LogPeriod": "one line is logged for each layer",
    "RefModelPath": "the float model of the call is the reference",
}


@dataclass(frozen=True)
class FastFinetune:
    """What was asked for: the algorithm, how many samples (None: all), a file for the result, and the settings.

    ``rounding`` is the algorithm of another plugin, which goes on from what is found here.
    """

    algorithm: str = "hessian"
    samples: int | None = None
    result_path: str | Path | None = None
    settings: FinetuneSettings = FinetuneSettings()  # noqa: RUF009 - frozen
    rounding: WeightRounding | None = None


def _whole(key: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OptionError(f"FastFinetune's {key} takes a whole number of at least {least}, not {value!r}")
    return value


def _share(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise OptionError(f"FastFinetune's {key} takes a share between 0 and 1, not {value!r}")
    return float(value)


def _switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"FastFinetune's {key} takes True or False, not {value!r}")
    return value


def _file(key: str, value: object) -> str | Path | None:
    if value is not None and not (isinstance(value, (str, Path)) and str(value)):
        raise OptionError(f"FastFinetune's {key} takes the path of a file, not {value!r}")
    return value


def _algorithm(value: object, roundings: Mapping[str, WeightRounding]) -> str:
    names = tuple(dict.fromkeys((*ALGORITHMS, *WITH_TORCH, *roundings)))
    name = value.lower() if isinstance(value, str) else value
    if isinstance(name, str) and name in names:
        return name
    raise OptionError(f"FastFinetune's OptimAlgorithm takes one of {', '.join(names)}, not {value!r}")


def _parameter(key: str, value: object, default: float) -> float:
    if isinstance(default, int):
        return _whole(key, value, 1)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise OptionError(f"FastFinetune's {key} takes a number above 0, not {value!r}")
    return float(value)


def fast_finetune(options: Mapping[str, Any], roundings: Sequence[WeightRounding] = ()) -> FastFinetune:
    """The option's dictionary, read; OptionError names a key that nobody knows, or a value that does not fit.

    Keys: ``OptimAlgorithm`` (hessian, bias; adaround and adaquant with the PyTorch plugin, or what other plugins bring
    as ``roundings``), ``DataSize`` (how many samples), ``FixedSeed``, ``HeldOut`` (the share of samples that judges),
    ``Columns`` (outputs looked at per layer), ``MemoryLimit`` (bytes), ``WidestLayer``, ``WeightBits`` (how many bits
    of their type weights use), ``KeepOnInterrupt``, ``ResultFile``; and the parameters of the algorithm.

    Raises:
        OptionError: a key is unknown, or has a value that cannot be.
    """
    known = {each.key.lower(): each for each in roundings}
    algorithm = _algorithm(options.get(ALGORITHM, "hessian"), known)
    rounding = known.get(algorithm)
    parameters = dict(rounding.parameters) if rounding is not None else {}
    found, settings = FastFinetune(algorithm, rounding=rounding), FinetuneSettings()
    for key, value in options.items():
        if key == ALGORITHM:
            continue
        if key == "DataSize":
            found = replace(found, samples=None if value is None else _whole(key, value, 1))
        elif key == "ResultFile":
            found = replace(found, result_path=_file(key, value))
        elif key == "FixedSeed":
            settings = replace(settings, seed=_whole(key, value, 0))
        elif key == "HeldOut":
            settings = replace(settings, held_out=_share(key, value))
        elif key == "Columns":
            settings = replace(settings, columns=_whole(key, value, 1))
        elif key == "MemoryLimit":
            settings = replace(settings, memory=_whole(key, value, 0))
        elif key == "WidestLayer":
            settings = replace(settings, widest=_whole(key, value, 0))
        elif key == "WeightBits":
            settings = replace(settings, weight_bits=_whole(key, value, 2))
        elif key == "KeepOnInterrupt":
            settings = replace(settings, keep_on_interrupt=_switch(key, value))
        elif key in parameters:
            parameters[key] = _parameter(key, value, parameters[key])
        elif key in WITHOUT_MEANING:
            _log.warning("FastFinetune's %s does nothing here: %s", key, WITHOUT_MEANING[key])
        else:
            raise OptionError(_unknown(key, parameters))
    settings = replace(settings, candidates=ALGORITHMS.get(algorithm, HESSIAN), parameters=tuple(parameters.items()))
    return replace(found, settings=replace(settings, rounding="" if rounding is None else rounding.key))


KEYS = (
    *(ALGORITHM, "DataSize", "ResultFile", "FixedSeed", "HeldOut"),
    *("Columns", "MemoryLimit", "WidestLayer", "WeightBits", "KeepOnInterrupt"),
)


def _unknown(key: object, parameters: Mapping[str, float]) -> str:
    near = difflib.get_close_matches(str(key), (*KEYS, *parameters, *WITHOUT_MEANING), 1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join((*KEYS, *parameters))}"
    return f"{key} is no key of FastFinetune; {hint}"


def check_installed(asked: FastFinetune) -> None:
    """Refuse an algorithm whose plugin, or what that needs, is not there.

    Raises:
        UnsupportedError: so it is; says what to install.
    """
    if asked.algorithm in ALGORITHMS:
        return
    otherwise = "OptimAlgorithm=hessian needs nothing but numpy"
    if asked.rounding is None:
        raise UnsupportedError(
            f"{asked.algorithm} is of the plugin ort_vitis_torch, which ORT_VITIS_BLOCK leaves out; {otherwise}"
        )
    missing = asked.rounding.missing()
    if missing is not None:
        raise UnsupportedError(f"{asked.algorithm}: {missing}; {otherwise}")
