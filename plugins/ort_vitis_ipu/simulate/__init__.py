"""Float operations as the DPU computes them, in the order in which the original applies them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .avg_pool import avg_pool
from .hard_sigmoid import hard_sigmoid
from .leaky_relu import leaky_relu
from .reduce_mean import reduce_mean
from .sigmoid import sigmoid
from .softmax import softmax

SIMULATION = [leaky_relu, sigmoid, hard_sigmoid, avg_pool, reduce_mean, softmax]
