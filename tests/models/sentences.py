"""Text by a grammar: who does what where, and sums in words; a reader of it must look back to say what comes next."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LETTERS = "\n abcdefghijklmnopqrstuvwxyz.,"
NAMES = ("anna", "bert", "carla", "david", "emil", "frieda", "gustav", "hanna")
VERBS = ("sees", "paints", "carries", "forgets", "buys", "repairs")
THINGS = ("boat", "lamp", "clock", "garden", "violin", "letter", "window", "bridge")
KINDS = ("old", "green", "heavy", "quiet", "broken", "small")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def sentence(rng: np.random.Generator) -> str:
    """One line."""
    if rng.random() < 0.3:
        a = int(rng.integers(0, 6))
        b = int(rng.integers(0, 11 - a))
        return f"{NUMBERS[a]} and {NUMBERS[b]} are {NUMBERS[a + b]}.\n"
    name, verb, kind, thing = (str(rng.choice(words)) for words in (NAMES, VERBS, KINDS, THINGS))
    first = f"{name} {verb} the {kind} {thing}"
    if rng.random() < 0.5:
        return f"{first}.\n"
    other = str(rng.choice([each for each in NAMES if each != name]))
    return f"{first}, and {other} {verb} the {thing} of {name}.\n"


def text(seed: int, letters: int) -> NDArray[np.int64]:
    """``[letters]`` indices into LETTERS."""
    rng = np.random.default_rng(seed)
    lines = ""
    while len(lines) < letters:
        lines += sentence(rng)
    return np.array([LETTERS.index(letter) for letter in lines[:letters]])
