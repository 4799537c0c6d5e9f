"""Block8: eight neighbours share one exponent and have eight bits each; neither scale nor zero point is stored."""

from collections.abc import Iterable, Iterator

import onnx
from onnx import FunctionProto, TensorProto

from ort_vitis_plugin.api import Declaration, Format, PairWriter, QType, QuantizedType, Scaling, hookimpl

DOMAIN = "example.block8"
QBLOCK8 = QType("QBlock8", TensorProto.FLOAT, 8, -127, 127, Scaling.NONE)

# step = 2^(floor(log2(max |x|)) - 6) of each eight values in memory order, y = clip(round(x / step), -127, 127) * step
FUNCTION = """
<domain: "example.block8", opset_import: ["": {opset}]>
Block8 (x) => (y) {{
  eight = Constant <value = int64[1] {{8}}> ()
  zero = Constant <value = int64[1] {{0}}> ()
  one = Constant <value = int64[1] {{1}}> ()
  rest = Constant <value = int64[1] {{-1}}> ()
  rows = Constant <value = int64[2] {{-1, 8}}> ()
  tiny = Constant <value = float {{1e-37}}> ()
  two = Constant <value = float {{2.0}}> ()
  six = Constant <value = float {{6.0}}> ()
  low = Constant <value = float {{-127.0}}> ()
  high = Constant <value = float {{127.0}}> ()
  shape = Shape (x)
  flat = Reshape (x, rest)
  count = Size (x)
  counts = Reshape (count, one)
  negative = Neg (counts)
  missing = Mod (negative, eight)
  pads = Concat <axis = 0> (zero, missing)
  padded = Pad (flat, pads)
  blocks = Reshape (padded, rows)
  magnitude = Abs (blocks)
  reach = ReduceMax <keepdims = 1> (magnitude, one)
  safe = Max (reach, tiny)
  log_reach = Log (safe)
  log_two = Log (two)
  ratio = Div (log_reach, log_two)
  exponent = Floor (ratio)
  shifted = Sub (exponent, six)
  step = Pow (two, shifted)
  scaled = Div (blocks, step)
  rounded = Round (scaled)
  mantissa = Clip (rounded, low, high)
  values = Mul (mantissa, step)
  long = Reshape (values, rest)
  kept = Slice (long, zero, counts)
  y = Reshape (kept, shape)
}}
"""


class Block8Writer(PairWriter):
    """One node, defined in the model itself, is the whole pair; biases stay float."""

    quantize_op = dequantize_op = "Block8"
    is_one_node = True
    takes_float16 = False
    minimum_opset = 18  # ReduceMax takes its axes as an input

    def domain(self, kind: QType) -> str:
        return DOMAIN

    def functions(self) -> Iterable[FunctionProto]:
        return [onnx.parser.parse_function(FUNCTION.format(opset=self.opset))]


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield QuantizedType(QBLOCK8, "Eight bits each and one exponent for eight neighbours.")
    yield Format("Block8", "Block8 nodes with their definition.", Block8Writer, lambda kind: kind == QBLOCK8)
