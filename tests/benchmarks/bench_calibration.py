"""Calibration against plain inference, ORT's calibrators and numpy, on a ResNet-50 with random He weights.

python tests/benchmarks/bench_calibration.py [time] [memory] [numpy] [upstream] [sketch] [small] [dask] [--samples 16]

Medians of things measured in turns in one run: processor seconds where one thread works (other programs disturb them
little), wall time where two do. Parts run in the order given, all by default.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.calibration import calibration_of
from ort_vitis_plugin.calibration.observe import Observer
from ort_vitis_plugin.sketch import Sketch, merged
from ort_vitis_plugin.sketch import engine as sketch_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHAPE = (1, 3, 224, 224)
POSITIONS = range(-8, 24)


def resnet50(size: int = 224, width: int = 64) -> tuple[ModelProto, list[str]]:
    """The network with batch norms folded away, and the names of all float tensors between its nodes."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[TensorProto] = []

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [f"t{len(nodes)}"], f"{kind}_{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def constant(array: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(array.astype(np.float32), f"w{len(weights)}"))
        return weights[-1].name

    def conv(x: str, source: int, target: int, kernel: int, stride: int = 1, gain: float = 2.0) -> str:
        weight = rng.standard_normal((target, source, kernel, kernel)) * np.sqrt(gain / (source * kernel * kernel))
        return node(
            *("Conv", x, constant(weight), constant(rng.standard_normal(target) * 0.01)),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
        )

    x = node("Relu", conv("image", 3, width, 7, 2))
    x = node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = width << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = node("Relu", conv(x, channels, inner, 1))
            y = node("Relu", conv(y, inner, inner, 3, stride))
            y = conv(y, inner, 4 * inner, 1, gain=0.2)
            x = conv(x, channels, 4 * inner, 1, stride, gain=1.0) if not block else x
            x, channels = node("Relu", node("Add", x, y)), 4 * inner
    x = node("Flatten", node("GlobalAveragePool", x))
    weight = rng.standard_normal((channels, 1000)) * 0.02
    nodes.append(helper.make_node("Gemm", [x, constant(weight), constant(np.zeros(1000))], ["logits"], "Gemm"))
    graph = helper.make_graph(
        nodes,
        "resnet50",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, size, size])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1000])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model, ["image", *(name for each in nodes for name in each.output)]


def images(count: int, seed: int = 0) -> Iterator[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield {"image": rng.standard_normal(SHAPE).astype(np.float32)}


def plain(model: ModelProto, threads: int, level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, threads
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_threads(threads: int) -> Callable[[ort.SessionOptions], None]:
    def configure(options: ort.SessionOptions) -> None:
        options.intra_op_num_threads = threads

    return configure


def clock(work: Callable[[], Any], timer: Callable[[], float] = time.process_time) -> float:
    start = timer()
    work()
    return timer() - start


def alternately(
    observer: Observer,
    samples: int,
    works: dict[str, Callable[[dict[str, np.ndarray]], Any]],
    timer: Callable[[], float] = time.process_time,
) -> tuple[dict[str, float], dict[str, Sketch]]:
    """Median seconds per sample of each work and of the observer, in turns after two rounds that warm up."""
    times: dict[str, list[float]] = {name: [] for name in (*works, "observed")}

    def feeds() -> Iterator[dict[str, np.ndarray]]:
        for feed in images(samples + 2):
            for name, work in works.items():
                times[name].append(clock(lambda work=work, feed=feed: work(feed), timer))  # type: ignore[misc]
            start = timer()
            yield feed  # until the observer asks for the next one
            times["observed"].append(timer() - start)

    sketches = observer.run(feeds())
    return {name: median(each[2:]) for name, each in times.items()}, sketches


def bench_time(samples: int) -> None:
    model, tensors = resnet50()
    levels = ort.GraphOptimizationLevel
    questions: dict[str, Callable[[Sketch], Any]] = {
        "MinMax": lambda sketch: (sketch.minimum, sketch.maximum),
        "MinMSE": lambda sketch: sketch.squared_error(POSITIONS, -128, 127),
        "Percentile": lambda sketch: sketch.percentile(99.99),
        "Entropy": lambda sketch: sketch.entropy_range(),
    }
    for threads in (1, 2):
        base, best = plain(model, threads, levels.ORT_ENABLE_BASIC), plain(model, threads, levels.ORT_ENABLE_ALL)
        observer = Observer(model, tensors, configure=with_threads(threads))
        works = {"plain": lambda feed, s=base: s.run(None, feed), "all": lambda feed, s=best: s.run(None, feed)}
        timer = time.process_time if threads == 1 else time.perf_counter
        seconds, sketches = alternately(observer, samples, works, timer)  # type: ignore[arg-type]
        elements = sum(sketch.count for sketch in sketches.values()) / (samples + 2)
        each = list(sketches.values())
        final = {
            name: clock(lambda ask=ask, each=each: [ask(sketch) for sketch in each])  # type: ignore[misc]
            for name, ask in questions.items()
        }
        extra = (seconds["observed"] - seconds["plain"]) / elements * 1e9
        print(
            f"  {threads} thread(s): plain {seconds['plain'] * 1e3:.0f} ms, ENABLE_ALL {seconds['all'] * 1e3:.0f} ms, "
            f"observed {seconds['observed'] * 1e3:.0f} ms; {len(tensors)} tensors, {elements / 1e6:.1f} M elements\n"
            f"  observed/plain {seconds['observed'] / seconds['plain']:.2f}, "
            f"observed/ENABLE_ALL {seconds['observed'] / seconds['all']:.2f}, {extra:.2f} ns per element more\n  end: "
            + ", ".join(f"{name} {value:.2f} s" for name, value in final.items())
        )


def bench_memory(_: int) -> None:
    """Peak resident memory of processes after the first image, when building the session is over (Linux)."""
    peaks = {}
    for kind in ("plain 16", "observed 16", "observed 256"):
        run = subprocess.run([sys.executable, __file__, "--child", kind], check=True, capture_output=True, text=True)
        peaks[kind] = int(run.stdout) / 1024
        print(f"  {kind} images: peak {peaks[kind]:.0f} MiB")
    print(f"  256/16 images: {peaks['observed 256'] / peaks['observed 16']:.3f}")


def child(kind: str) -> None:
    what, count = kind.split()
    model, tensors = resnet50()

    def feeds() -> Iterator[dict[str, np.ndarray]]:
        for at, feed in enumerate(images(int(count))):
            if at == 1:
                Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
            yield feed

    if what == "plain":
        session = plain(model, 1, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC)
        for feed in feeds():
            session.run(None, feed)
    elif what == "observed":
        calibration_of(model, feeds(), tensors, configure=with_threads(1))
    else:
        upstream(what, int(count), model, tensors)
    status = Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def upstream(method: str, count: int, model: ModelProto, tensors: list[str]) -> float:
    """Processor seconds of ORT's own calibrator over ``count`` images, on one thread as we are."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, create_calibrator

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.feeds = images(count)

        def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
            return next(self.feeds, None)

    with tempfile.TemporaryDirectory() as folder:
        path, augmented = Path(folder) / "model.onnx", Path(folder) / "augmented.onnx"
        onnx.save(onnx.shape_inference.infer_shapes(model), str(path))
        calibrator = create_calibrator(
            path,
            augmented_model_path=str(augmented),
            calibrate_method=CalibrationMethod[method],
            extra_options={"num_bins": 2048} if method == "Entropy" else {},
        )
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # as the calibrator has it

        def work() -> None:
            calibrator.infer_session = ort.InferenceSession(str(augmented), options, providers=["CPUExecutionProvider"])
            calibrator.collect_data(Reader())
            calibrator.compute_data()

        return clock(work)


def bench_upstream(samples: int) -> None:
    """Processor seconds, for two threads that spin beside other programs tell nothing of either."""
    model, tensors = resnet50()
    ours = {
        "Percentile": lambda made: [sketch.percentile(99.99) for sketch in made.sketches.values()],
        "Entropy": lambda made: [sketch.entropy_range() for sketch in made.sketches.values()],
    }
    for method, ask in ours.items():
        mine = clock(lambda ask=ask: ask(calibration_of(model, images(samples), tensors, configure=with_threads(1))))  # type: ignore[misc]
        theirs = upstream(method, samples, model, tensors)
        print(f"  {method}, {samples} images: {mine:.1f} s, ORT's {theirs:.1f} s, {theirs / mine:.1f} times")


def bench_numpy(samples: int) -> None:
    """MinMSE over five candidates per tensor in numpy, on fetched outputs, as the peers do it."""
    model, tensors = resnet50()
    fetching = ModelProto()
    fetching.CopyFrom(model)
    names = [name for name in tensors if name not in ("image", "logits")]
    fetching.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = plain(fetching, 1, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC)
    base = plain(model, 1, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC)
    observer = Observer(model, tensors, configure=with_threads(1))

    def five_candidates(feed: dict[str, np.ndarray]) -> None:
        for values in session.run(None, feed):
            top = int(np.floor(np.log2(127 / max(float(np.abs(values).max()), 1e-30))))
            for position in range(top, top + 5):
                scale = np.float32(2.0**-position)
                np.square(values - np.clip(np.round(values / scale), -128, 127) * scale).sum()

    works = {"plain": lambda feed: base.run(None, feed), "numpy": five_candidates}
    seconds, _ = alternately(observer, min(samples, 5), works)
    whole = seconds["numpy"] / seconds["observed"]
    added = (seconds["numpy"] - seconds["plain"]) / (seconds["observed"] - seconds["plain"])
    print(f"  numpy/ours {whole:.1f} with inference, {added:.1f} without")


def bench_sketch(_: int) -> None:
    rng = np.random.default_rng(0)
    for kind, values in (
        ("normal", rng.standard_normal(802_816)),
        ("ReLU", np.maximum(rng.standard_normal(802_816), 0)),
    ):
        row = values.astype(np.float32)
        counter = sketch_engine.new_counter()
        figures = [f"numpy {clock(lambda: numpy_sketch(row)) / row.size * 1e9:.1f}"]  # noqa: B023
        if counter:
            times = [clock(lambda: counter.add(row)) for _ in range(31)]  # noqa: B023
            copy = [clock(row.copy) for _ in range(31)]
            figures.insert(0, f"C++ {median(times) / row.size * 1e9:.2f} (least {min(times) / row.size * 1e9:.2f})")
            figures.append(f"copy of the array {median(copy) / row.size * 1e9:.2f}")
        print(f"  {kind} ns per element: {', '.join(figures)}")
    parts = []
    for seed in range(1000):
        part = Sketch()
        part.add(np.random.default_rng(seed).standard_normal(20_000).astype(np.float32))
        parts.append(part.cut())
    print(f"  merging 1,000 sketches: {clock(lambda: merged(parts)):.2f} s")


def bench_small(_: int) -> None:
    """A sketch per weight, as planning makes them: what one costs when there is little to count."""
    rng = np.random.default_rng(0)
    for size in (64, 1024, 16_384):
        weights = [rng.standard_normal(size).astype(np.float32) for _ in range(800)]
        sketches = [Sketch() for _ in weights]
        counting = clock(lambda: [s.add(w) or s.bins for s, w in zip(sketches, weights, strict=True)])  # noqa: B023
        asking = clock(lambda: [s.squared_error(range(4, 10), -128, 127) for s in sketches])  # noqa: B023
        print(
            f"  800 weights of {size} values: {counting / 0.8:.2f} ms to count one, {asking / 0.8:.2f} ms for errors "
            "at six positions"
        )


def numpy_sketch(row: np.ndarray) -> None:
    Sketch()._add_chunk(row)


class SlowReader:
    """200 ms per sample, as decoding takes."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: int) -> dict[str, np.ndarray]:
        time.sleep(0.2)
        return {"image": np.random.default_rng(at).standard_normal((1, 3, 64, 64)).astype(np.float32)}


def bench_dask(samples: int) -> None:
    from distributed import Client, LocalCluster

    model, tensors = resnet50(64, 16)
    count, wall = max(samples, 64), time.perf_counter
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        calibration_of(model, SlowReader(4), tensors, executor=client)  # workers import and load once
        results = {}
        alone = clock(lambda: results.update(one=calibration_of(model, SlowReader(count), tensors)), wall)
        work = lambda: results.update(two=calibration_of(model, SlowReader(count), tensors, executor=client))  # noqa: E731
        two = clock(work, wall)
    same = all(results["one"].sketches[name] == results["two"].sketches[name] for name in tensors)
    print(
        f"  {count} samples: one process {alone:.1f} s, two workers {two:.1f} s, {alone / two:.2f} times; same: {same}"
    )


def main() -> None:
    parts = {name[len("bench_") :]: work for name, work in globals().items() if name.startswith("bench_")}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
        return
    print(f"onnxruntime {ort.__version__}, numpy {np.__version__}, C++ sketch: {sketch_engine.library() is not None}")
    for name in arguments.parts or parts:
        print(f"{name}:")
        parts[name](arguments.samples)


if __name__ == "__main__":
    main()
