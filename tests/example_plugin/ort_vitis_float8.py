"""Float8 E5M2 has two bits of mantissa and reaches 57344: native pairs hold it, with a scale for each tensor."""

from collections.abc import Iterator

from onnx import TensorProto

from ort_vitis_plugin.api import Declaration, Format, PairWriter, QType, QuantizedType, Scaling, hookimpl

QFLOAT8E5M2 = QType("QFloat8E5M2", TensorProto.FLOAT8E5M2, 8, -57344, 57344, Scaling.LINEAR)


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield QuantizedType(QFLOAT8E5M2, "Float8 of five bits of exponent.")
    yield Format("Float8", "Native pairs of float8 E5M2.", PairWriter, lambda kind: kind == QFLOAT8E5M2)
