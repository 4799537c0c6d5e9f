"""How much longer `import ort_vitis_plugin` takes than `import onnxruntime.quantization`, both in fresh processes.

The two are measured in turn, so that other load on the machine meets both alike; the ratio is of the medians. Both find
their byte code in a folder of this run's, whatever the environment says of byte code.
Run: python tests/benchmarks/bench_import.py [ROUNDS]
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

LIMIT = 1.2
MEASURE = """
import sys, time
sys.path[:0] = [".", "plugins"]
wall, cpu = time.perf_counter(), time.process_time()
import {name}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def seconds(name: str, byte_code: str) -> tuple[float, float]:
    """Wall and processor seconds of one import in a process of its own."""
    code = MEASURE.format(name=name)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = byte_code
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stdout
    wall, cpu = map(float, printed.split())
    return wall, cpu


def main(rounds: int) -> int:
    """Print both costs and their ratios; 1 when the ratio of processor seconds is above the limit."""
    names = ("onnxruntime.quantization", "ort_vitis_plugin")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as byte_code:
        for name in names:
            seconds(name, byte_code)  # writes the byte code
        for _ in range(rounds):
            for name in names:
                times[name].append(seconds(name, byte_code))
    ratios = []
    for kind, index in (("wall", 0), ("cpu", 1)):
        plain, ours = (statistics.median(pair[index] for pair in times[name]) for name in names)
        ratios.append(ours / plain)
        print(f"{kind}: {names[0]} {plain * 1e3:.0f} ms, {names[1]} {ours * 1e3:.0f} ms, ratio {ours / plain:.3f}")
    return int(ratios[1] > LIMIT)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
