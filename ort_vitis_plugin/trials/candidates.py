"""What is worth a trial, from switches that cost nothing on the device to single nodes that leave it.

Every phase is asked anew for the best configuration of the moment, and gives changes of it.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..entry.quantize_static import settings_for
from ..errors import QuantizationError
from ..graph import Graph
from ..graph.op_sets import MOVES
from ..measure.layer_errors import layer_errors
from ..measure.simulated_nodes import restored_first
from ..options.host_options import CallOptions
from ..pipeline.advice import is_bias, nodes_around
from ..pipeline.validation import check_request
from ..plugin.declarations import Stage, Transform
from ..plugin.entries import full_name
from ..plugin.methods import Method
from ..request.change import OPTIONS, changed_keywords
from ..request.mixed_types import OPTION as MIXED_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..request.change import Change
    from ..request.settings import Settings
    from .bench import Bench
    from .trial import Configuration

WIDE = "QInt16"
ACTIVATIONS = ("QUInt8", "QInt8", WIDE)
CLE = "IncludeCLE"
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
REGIONS = 6  # at most, in the first cut
SINGLES = 8
FEW = 1  # samples that tell which simulated nodes count: each is run once per node
SHARES = 2  # as many as may be, and half of them
FEW_NODES = 3  # beyond, the worst alone is worth a trial too


class Candidate(NamedTuple):
    """A change of the best configuration, in words and as keyword arguments."""

    what: str
    change: Change


def steps(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Each rewrite that did something, switched off."""
    settings, done = _settings(best), bench.report(best).transforms
    for step in settings.catalog.all(Transform):
        if step.option is not None and step.stage is not Stage.NORMALIZE and done.get(step.key):
            yield Candidate(f"{step.key} off", {OPTIONS: {step.option.key: False}})


def rules(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """The nodes at which a hardware rule made a tensor clip, left float: rule by rule, and the worst of many alone."""
    report, settings = bench.report(best), _settings(best)
    clipped = {move.tensor: set(move.rules) for move in report.moves if move.after > move.before}
    stories = report.tensors
    graph = Graph(bench.reference(best), copy=False)
    for rule in settings.catalog.adjusters(settings.lineage):
        errors = {
            node.name: max((stories[name].error or 0.0 for name in touched if name in stories), default=0.0)
            for node in graph.sorted()
            if report.quantized.get(node.name) in rule.ops
            and (touched := [name for name in (*node.input, *node.output) if rule.key in clipped.get(name, ())])
        }
        if errors:
            names = sorted(errors, key=lambda name: -errors[name])
            yield Candidate(f"{', '.join(names)} float, clipped by {rule.key}", {"nodes_to_exclude": names})
            if len(names) > FEW_NODES:
                yield Candidate(f"{names[0]} float, clipped by {rule.key}", {"nodes_to_exclude": names[:1]})


def simulated_shares(bench: Bench, best: Configuration, most: int) -> Iterator[Candidate]:
    """Of the nodes that the device computes otherwise, those that take the outputs farthest off: at most so many, or
    half of them."""
    if most < 1:
        return
    order = restored_first(
        bench.reference(best), bench.simulated(best), bench.split.judging[:FEW], bench.judge.libraries
    )
    quantized = bench.report(best).quantized
    names = [name for name in order if name in quantized]
    size = min(most, len(names) // 2)
    for count in dict.fromkeys(size >> times for times in range(SHARES)):
        if count:
            yield Candidate(f"{count} simulated nodes float", {"nodes_to_exclude": names[:count]})


def equalization(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Channels of like size before anything is rounded."""
    if not _settings(best).options[CallOptions].equalizes:
        yield Candidate(CLE, {OPTIONS: {CLE: True}})


def corrections(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """The recipe, corrections one by one, and all of these with equalization together."""
    settings = _settings(best)
    if is_plain(best):
        yield Candidate("with the recipe", {OPTIONS: {"Recipe": "auto"}})
    keys = [
        each.option.key
        for each in settings.catalog.corrections(settings.lineage)
        if each.option is not None and not settings.options[each.option.key] and settings.switched_on(each.option)
    ]
    for key in keys:
        yield Candidate(key, {OPTIONS: {key: True}})
    if not settings.options[CallOptions].equalizes:
        keys.insert(0, CLE)
    if len(keys) > 1:
        yield Candidate(" and ".join(keys), {OPTIONS: dict.fromkeys(keys, True)})


def asked_corrections(best: Configuration) -> Candidate | None:
    """The recipe's corrections, asked for by name: so they take more samples than the recipe gives them."""
    settings = _settings(best)
    keys = [
        each.option.key
        for each in settings.catalog.corrections(settings.lineage)
        if each.in_recipe and each.option is not None and settings.switched_on(each.option)
    ]
    return Candidate(" and ".join(keys), {OPTIONS: dict.fromkeys(keys, True)}) if keys else None


def ranges(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Other methods, other types of activations, scales by channel; where no type has a range, types alone."""
    settings = _settings(best)
    for method in settings.catalog.all(Method):
        if settings.needs_data and method.key != settings.method.key:
            yield Candidate(f"method {full_name(method.key)}", {"calibrate_method": method.key})
    for kind in ACTIVATIONS:
        if kind != str(settings.activation):
            yield Candidate(f"activations {kind}", {"activation_type": kind})
    if settings.needs_data and not settings.request.per_channel:
        yield Candidate("weights by channel", {"per_channel": True})


def products(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Products of matrices alone: sums, norms and squashing functions carry the outliers of transformers."""
    counts = _op_types(bench, best)
    found = [op_type for op_type in PRODUCTS if counts[op_type]]
    for chosen in dict.fromkeys([tuple(found), *((each,) for each in reversed(found))]):
        if 0 < len(chosen) < len(counts):
            yield Candidate(f"only {', '.join(chosen)}", {"op_types_to_quantize": list(chosen)})


def raised_groups(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Where the device computes in 16 bits: data of each op type in them, the rarest first, then of each stretch."""
    settings = _settings(best)
    wide, now = settings.catalog.qtype(WIDE), settings.activation
    if not settings.computes(wide) or not now.is_integer or now.bits >= wide.bits:
        return
    given = settings.options[CallOptions].mixed_types or {}
    graph = Graph(bench.reference(best), copy=False)
    groups = {op_type: [f"op:{op_type}"] for op_type in _rarest(bench, best)}
    for names in _stretches(graph, set(bench.report(best).quantized)):
        groups.setdefault(f"{names[0]} to {names[-1]}", names)
    for what, names in groups.items():
        if not given.keys() >= set(names):
            entries = {key: {"activation_type": WIDE} for key in names}
            yield Candidate(f"{what} in {WIDE}", {OPTIONS: {MIXED_TYPES: {**given, **entries}}})


def single_op_types(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Each op type left float, the rarest first."""
    for op_type in _rarest(bench, best):
        yield Candidate(f"{op_type} float", {"nodes_to_exclude": [f"op:{op_type}"]})


def _rarest(bench: Bench, best: Configuration) -> list[str]:
    """Op types of quantized nodes, those of which there are fewest first."""
    return [op_type for op_type, _ in sorted(_op_types(bench, best).items(), key=lambda item: (item[1], item[0]))]


def _op_types(bench: Bench, best: Configuration) -> Counter[str]:
    """Those of quantized nodes, as the prepared float model has them."""
    quantized = bench.report(best).quantized
    return Counter(node.op_type for node in Graph(bench.reference(best), copy=False) if node.name in quantized)


def end_nodes(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """What lies between the last product of matrices and the worst parts."""
    result = bench.quantized(best)
    graph = Graph(bench.reference(best), copy=False)
    judged = bench.judge.judgements(result.model)
    names: dict[str, None] = {}
    for each in judged:
        tensors = [each.tensor]
        found: dict[str, None] = {}
        while tensors:
            node = graph.producer(tensors.pop())
            if node is not None and node.op_type not in PRODUCTS and node.name not in found:
                found[node.name] = None
                tensors.extend(name for name in node.input if not graph.is_constant(name))
        chosen = [name for name in found if name in result.report.quantized and name not in names]
        names.update(dict.fromkeys(chosen))
        if chosen:
            yield Candidate(f"end of {each.name} float", {"nodes_to_exclude": chosen})
            nodes = {node.name: node for node in graph}
            near = next((name for name in chosen if nodes[name].op_type not in MOVES), None)
            if near is not None and len(chosen) > 1:
                yield Candidate(f"{near} float", {"nodes_to_exclude": [near]})


def regions(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """Stretches of the network between its cut points, each left float."""
    report = bench.report(best)
    graph = Graph(bench.reference(best), copy=False)
    for names in _stretches(graph, set(report.quantized)):
        yield Candidate(f"{names[0]} to {names[-1]} float", {"nodes_to_exclude": names})


def halves(names: Sequence[str]) -> Iterator[Candidate]:
    """A stretch that helped, cut in two."""
    middle = len(names) // 2
    for part in (list(names[:middle]), list(names[middle:])):
        if part:
            yield Candidate(f"{part[0]} to {part[-1]} float", {"nodes_to_exclude": part})


def singles(bench: Bench, best: Configuration) -> Iterator[Candidate]:
    """The tensors that lose most by themselves, each left float with the nodes around it."""
    graph = Graph(bench.reference(best), copy=False)
    for tensor in worst_tensors(bench, best)[:SINGLES]:
        names = nodes_around(graph, tensor)
        yield Candidate(f"tensor {tensor} float", {"nodes_to_exclude": names})


def worst_tensors(bench: Bench, best: Configuration) -> list[str]:
    """Quantized tensors, weights too and biases not, those that lose most of what they say first."""
    reference = bench.reference(best)
    errors = layer_errors(
        reference, bench.quantized(best).model, bench.judge.feeds, libraries=bench.judge.libraries[1:]
    )
    graph = Graph(reference, copy=False)
    found = [each for each in errors if not is_bias(graph, each.tensor)]
    return [each.tensor for each in sorted(found, key=lambda each: each.contrast)]


def is_plain(configuration: Configuration) -> bool:
    """Whether it is the named method alone, without the corrections of the recipe."""
    return _settings(configuration).call.recipe == "plain"


def is_refused(best: Configuration, change: Change) -> bool:
    """Whether target, format or an option refuses the change before any work."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_request(_settings(changed_keywords(best, change)))
    except QuantizationError:
        return True
    return False


def _settings(configuration: Configuration) -> Settings:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return settings_for(**configuration)


def _stretches(graph: Graph, quantized: set[str]) -> list[list[str]]:
    """Quantized nodes in order, cut where one tensor alone leads on, and joined to few stretches of like length."""
    order = graph.sorted()
    last: dict[str, int] = {}
    for number, node in enumerate(order):
        last.update((name, number) for name in node.input if name and not graph.is_constant(name))
    pieces: list[list[str]] = [[]]
    live: set[str] = set(graph.inputs)
    for number, node in enumerate(order):
        live |= set(node.output)
        live = {name for name in live if last.get(name, -1) > number or name in graph.outputs}
        if node.name in quantized:
            pieces[-1].append(node.name)
        if len(live) == 1 and pieces[-1]:
            pieces.append([])
    pieces = [piece for piece in pieces if piece]
    size = max(1, -(-sum(map(len, pieces)) // REGIONS))
    joined: list[list[str]] = []
    for piece in pieces:
        if joined and len(joined[-1]) + len(piece) <= size:
            joined[-1] += piece
        else:
            joined.append(list(piece))
    return joined
