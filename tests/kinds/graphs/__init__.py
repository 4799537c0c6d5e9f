"""Hand-written graphs as exporters leave them, by what is odd about them. Every configuration must take every graph."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .activations import ACTIVATIONS
from .bodies import BODIES
from .channels import CHANNELS
from .constants import CONSTANTS
from .ends import ENDS
from .masks import MASKS
from .names import NAMES
from .numbers import NUMBERS
from .operators import OPERATORS
from .opsets import OPSETS
from .shapes import Builder
from .shared import SHARED
from .types import TYPES

CATALOGUE: dict[str, dict[str, Builder]] = {
    "shared": SHARED,
    "names": NAMES,
    "channels": CHANNELS,
    "numbers": NUMBERS,
    "activations": ACTIVATIONS,
    "ends": ENDS,
    "bodies": BODIES,
    "constants": CONSTANTS,
    "opsets": OPSETS,
    "operators": OPERATORS,
    "types": TYPES,
    "masks": MASKS,
}
GRAPHS: dict[str, Builder] = {
    f"{kind}: {name}": build for kind, listed in CATALOGUE.items() for name, build in listed.items()
}
