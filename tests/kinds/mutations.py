"""Ways to write the same network differently. Each takes a model and a generator and gives a model of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .mutate_bodies import BODIES, LIVE_BODIES
from .mutate_constants import CONSTANTS
from .mutate_functions import FUNCTIONS
from .mutate_models import MODELS, OTHER_MODELS
from .mutate_names import NAMES
from .mutate_nodes import NODES
from .mutate_passing import PASSING
from .rewriting import Mutation

MUTATIONS: dict[str, Mutation] = {**NAMES, **CONSTANTS, **NODES, **PASSING, **MODELS, **FUNCTIONS, **BODIES}

# What these leave is another network to a quantizer: nodes in bodies stay float, an opset has other operators, a free
# dimension switches rules of the device off.
OTHERS: dict[str, Mutation] = {**OTHER_MODELS, **LIVE_BODIES}

# A spelled-out domain and a body hide nodes from other mutations: these come last, in this order.
LAST = (*FUNCTIONS, *BODIES, *LIVE_BODIES, "domain")
