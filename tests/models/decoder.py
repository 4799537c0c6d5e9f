"""A decoder as llama's: RMS norms, rotary positions, a cache of keys and values, gated layers, and a tied head."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from tests.models import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

LAYERS, WIDTH, HEADS, GATED, LONGEST = 2, 64, 4, 96, 256
SIZE = WIDTH // HEADS
WEIGHTS = ("q", "k", "v", "o", "gate", "up", "down")

_BEGIN = """
<ir_version: 8, opset_import: ["": 18]>
decoder (int64[B, S] ids, {inputs}) => (float[B, S, {letters}] logits, {outputs}) {{
  x0 = Gather(table, ids)
  index1 = Constant<value = int64 {{1}}>()
  index2 = Constant<value = int64 {{2}}>()
  zero = Constant<value = int64 {{0}}>()
  ids_shape = Shape(ids)
  past_shape = Shape(past_k0)
  s = Gather(ids_shape, index1)
  p = Gather(past_shape, index2)
  t = Add(p, s)
  rows = Range(p, t, index1)
  columns = Range(zero, t, index1)
  one = Constant<value = int64[1] {{1}}>()
  rows_up = Unsqueeze(rows, one)
  seen = LessOrEqual(columns, rows_up)
  fill = Constant<value = float {{-1e9}}>()
  c = Gather(cosines, rows)
  d = Gather(sines, rows)
  last = Constant<value = int64[1] {{-1}}>()
  tiny = Constant<value = float {{1e-6}}>()
  split = Constant<value = int64[4] {{0, 0, {heads}, {size}}}>()
  join = Constant<value = int64[3] {{0, 0, {width}}}>()
"""
_NORM = """
  {y}_square = Mul({x}, {x})
  {y}_mean = ReduceMean({y}_square, last)
  {y}_safe = Add({y}_mean, tiny)
  {y}_root = Sqrt({y}_safe)
  {y}_unit = Div({x}, {y}_root)
  {y} = Mul({y}_unit, {weight})
"""
_TURN = """
  {x}_a, {x}_b = Split<axis = -1, num_outputs = 2>({x})
  {x}_turned = Neg({x}_b)
  {x}_other = Concat<axis = -1>({x}_turned, {x}_a)
  {x}_cos = Mul({x}, c)
  {x}_sin = Mul({x}_other, d)
  {x}_at = Add({x}_cos, {x}_sin)
"""
_HEADS = """
  {x}_flat{n} = MatMul(n{n}, {x}_weight{n})
  {x}_split{n} = Reshape({x}_flat{n}, split)
  {x}{n} = Transpose<perm = [0, 2, 1, 3]>({x}_split{n})
"""
_ATTENTION = """
  present_k{n} = Concat<axis = 2>(past_k{n}, k{n}_at)
  present_v{n} = Concat<axis = 2>(past_v{n}, v{n})
  keys{n} = Transpose<perm = [0, 1, 3, 2]>(present_k{n})
  products{n} = MatMul(q{n}_at, keys{n})
  root{n} = Constant<value = float {{{scale}}}>()
  scores{n} = Mul(products{n}, root{n})
  masked{n} = Where(seen, scores{n}, fill)
  shares{n} = Softmax<axis = -1>(masked{n})
  mixed{n} = MatMul(shares{n}, present_v{n})
  back{n} = Transpose<perm = [0, 2, 1, 3]>(mixed{n})
  joined{n} = Reshape(back{n}, join)
  attended{n} = MatMul(joined{n}, o_weight{n})
  h{n} = Add(x{n}, attended{n})
"""
_GATED = """
  gate{n} = MatMul(m{n}, gate_weight{n})
  sigmoid{n} = Sigmoid(gate{n})
  swish{n} = Mul(gate{n}, sigmoid{n})
  up{n} = MatMul(m{n}, up_weight{n})
  both{n} = Mul(swish{n}, up{n})
  down{n} = MatMul(both{n}, down_weight{n})
  x{next} = Add(h{n}, down{n})
"""


def rotations() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """cos and sin of position times frequency, ``[LONGEST, SIZE]``, the halves alike."""
    frequency = 1000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))
    angle = np.tile(np.outer(np.arange(LONGEST), frequency), (1, 2))
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def decoder(weights: Mapping[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """The model of ``table`` [letters, WIDTH], ``norm``, and of each layer WEIGHTS ``[in, out]`` and two norms."""
    cache = [f"{part}_{what}{n}" for n in range(LAYERS) for what in "kv" for part in ("past", "present")]
    past, present = (
        ", ".join(f"float[B, {HEADS}, {length}, {SIZE}] {name}" for name in cache if name.startswith(part))
        for part, length in (("past", "P"), ("present", "T"))
    )
    text = _BEGIN.format(
        inputs=past, outputs=present, letters=len(sentences.LETTERS), heads=HEADS, size=SIZE, width=WIDTH
    )
    for n in range(LAYERS):
        text += _NORM.format(x=f"x{n}", y=f"n{n}", weight=f"norm_attention{n}")
        text += "".join(_HEADS.format(x=x, n=n) for x in "qkv") + "".join(_TURN.format(x=f"{x}{n}") for x in "qk")
        text += _ATTENTION.format(n=n, scale=SIZE**-0.5)
        text += _NORM.format(x=f"h{n}", y=f"m{n}", weight=f"norm_gated{n}") + _GATED.format(n=n, next=n + 1)
    text += _NORM.format(x=f"x{LAYERS}", y="end", weight="norm") + "  logits = MatMul(end, head)\n}"
    model = onnx.parser.parse_model(text)
    cosines, sines = rotations()
    constants = {**weights, "head": np.ascontiguousarray(weights["table"].T), "cosines": cosines, "sines": sines}
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def network() -> onnx.ModelProto:
    """The trained one."""
    with np.load(Path(__file__).with_name("decoder.npz")) as stored:
        return decoder({name: stored[name].astype(np.float32) for name in stored.files})


def empty_cache(batch: int = 1) -> dict[str, Any]:
    """What the first call takes."""
    nothing = np.zeros((batch, HEADS, 0, SIZE), np.float32)
    return {f"past_{what}{n}": nothing for n in range(LAYERS) for what in "kv"}


def perplexity(session: Any, seed: int = 1, *, length: int = 64, rows: int = 32, step: int = 64) -> float:
    """exp of the mean surprise at each letter of unseen text, read ``step`` letters at a time through the cache."""
    letters = sentences.text(seed, rows * (length + 1)).reshape(rows, length + 1)
    cache, surprise = empty_cache(rows), []
    names = [value.name for value in session.get_outputs()]
    for start in range(0, length, step):
        found = dict(zip(names, session.run(None, {"ids": letters[:, start : start + step], **cache}), strict=True))
        cache = {name.replace("present", "past"): value for name, value in found.items() if name != "logits"}
        logits = found["logits"].astype(np.float64)
        shifted = logits - logits.max(-1, keepdims=True)
        log_share = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        wanted = letters[:, start + 1 : start + step + 1, None]
        surprise.append(-np.take_along_axis(log_share, wanted, -1))
    return float(np.exp(np.concatenate(surprise, axis=1).mean()))
