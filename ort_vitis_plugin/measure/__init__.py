"""Float against quantized: by output, by layer, by tensor."""
# SPDX-License-Identifier: MIT
