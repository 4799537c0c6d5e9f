"""The route of the data, top to bottom: model in, quantized model out."""
# SPDX-License-Identifier: MIT
