"""Which CPUs saturate is read from what the system says of them; what nobody says is taken to saturate."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest

from ort_vitis_plugin.convert import integer_kernels
from ort_vitis_plugin.convert.integer_kernels import PRECISE, cpu_saturates, exact_config, flags_of
from tests.ort_vitis_plugin.convert.small_networks import FULL, codes_of, network, on_grid, pair, session

CPUS = {
    "x86_64 avx2": ("x86_64", "processor : 0\nflags\t\t: fpu avx2 fma\n\nprocessor : 1\n", True),
    "x86_64 avx512_vnni": ("x86_64", "flags : fpu avx512f avx512_vnni", False),
    "AMD64 avx_vnni": ("AMD64", "flags : avx_vnni", False),
    "x86_64 of a system that says nothing": ("x86_64", None, True),
    "arm": ("aarch64", None, False),
}


@pytest.mark.parametrize("case", CPUS)
def test_cpus(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, text, expected = CPUS[case]

    def read(self: Path, **_: Any) -> str:
        if text is None:
            raise FileNotFoundError(self)
        return text

    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(integer_kernels.Path, "read_text", read)
    cpu_saturates.cache_clear()
    try:
        assert cpu_saturates() is expected
        assert exact_config() == (PRECISE if expected else {})
    finally:
        cpu_saturates.cache_clear()


def test_flags() -> None:
    assert flags_of("") == frozenset()
    assert flags_of("model name : x\nflags : a b\nflags : c") == {"a", "b"}


def test_the_option_is_one_that_onnxruntime_takes() -> None:
    import numpy as np
    import onnxruntime as ort

    body = f"{pair('x', 'xd', 'p4')}\nwd = DequantizeLinear(w, p7, i0)\nt = Gemm(xd, wd)\n{pair('t', 'y', 'p1')}"
    model = network("float[3, 64] x => float[3, 5] y", body, w=codes_of((64, 5)))
    options = ort.SessionOptions()
    for key, value in PRECISE.items():
        options.add_session_config_entry(key, value)
    sample = {"x": on_grid((3, 64), 4)}
    from ort_vitis_plugin.testing import LEVELS

    wanted = session(model, LEVELS[0]).run(None, sample)[0]
    np.testing.assert_array_equal(session(model, FULL, options).run(None, sample)[0], wanted)
