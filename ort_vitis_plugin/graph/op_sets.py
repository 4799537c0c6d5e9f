"""Op types that are alike in one respect: they only move values, sum products, take a bias, or clamp."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

# Sums of products, most of them with a constant weight as the second input.
CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
MATRIX_PRODUCTS = frozenset({"Gemm", "MatMul"})
PRODUCTS = CONVOLUTIONS | MATRIX_PRODUCTS

# The products that take a bias as the third input.
WITH_BIAS = CONVOLUTIONS | {"Gemm"}

# Saturation may do what these do.
CLAMP_OPS = frozenset({"Clip", "Relu"})

# Rows of probabilities, or their logarithms.
SOFTMAXES = frozenset({"LogSoftmax", "Softmax"})

# Their argument is an angle: many periods of it look like one.
PERIODIC = frozenset({"Sin", "Cos", "Tan"})

# What they give depends on shapes alone: they read no values.
SIZE_OPS = frozenset({"Shape", "Size"})

# They compute nothing: other shapes of the same values in the same order.
RESHAPES = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})

# Nor do these: some of the values of one input, in any order and number.
MOVES = RESHAPES | {"Transpose", "Slice", "Split", "Gather", "Expand", "Tile", "Identity"}
