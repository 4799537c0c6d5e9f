"""A state_dict_file brings the weights of the module that it was saved from, all of them and no others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pickle
from pathlib import Path

import torch
from torch import nn

from .errors import MismatchError, StageError, first_line
from .exported import copied


def with_state(module: nn.Module, file: str | Path) -> nn.Module:
    """A copy of ``module`` with the weights that ``torch.save(module.state_dict(), file)`` wrote.

    Raises StageError where there is no such file, MismatchError where it holds something else.
    """
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise StageError(
            f"there is no state_dict_file {file}: torch.save(model.state_dict(), ...) writes one"
        ) from error
    except (pickle.UnpicklingError, EOFError, RuntimeError) as error:
        raise MismatchError(f"state_dict_file {file} holds no weights: {first_line(error)}") from error
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        held = ", ".join(map(str, state)) if isinstance(state, dict) else type(state).__name__
        raise MismatchError(
            f"state_dict_file {file} holds more than tensors by name ({held}); save the state_dict of the model alone"
        )
    changed, kind = copied(module), type(module).__name__
    try:
        changed.load_state_dict(state)
    except RuntimeError as error:
        wrong = "; ".join(line.strip() for line in str(error).splitlines()[1:])
        raise MismatchError(f"state_dict_file {file} was saved from another {kind}: {wrong}") from error
    return changed
