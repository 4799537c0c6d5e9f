"""Samples held out tell whether the equalization of a preset, or of IncludeCLE="auto", gains or loses.

Both ways are prepared, calibrated with a few samples, planned and written before the call goes on with one of them.
Where both are noise, weights follow the energy of their inputs as the recipe would let them: what is noise by the
method alone says little of the two.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..calibration.statistics import Statistics
from ..data_readers import Samples
from ..data_readers.spread import picked, spread
from ..errors import ModelError
from ..graph import Graph
from ..planning.marker import Marker
from ..request.call import Call
from . import subgraphs
from .corrections import FEWEST, real_samples
from .held_out import held_out
from .range_file import range_file
from .recipe import HALF, NOISE, is_clearly_better
from .stages import calibrate, make_plan, normalize, prepare, simulate
from .written_plan import carry_over, written

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..data_readers import Feed
    from ..measure.network_error import NetworkError
    from .held_out import HeldOut

OPTION, STEP, AUTO = "IncludeCLE", "CrossLayerEqualization", "auto"
# Samples that calibrate a trial, and that judge it: on the zoo so few rank the two ways as all do wherever these differ
# clearly, and cost less than the rest of the recipe. Beside fine-tuning more are no matter.
FEW, JUDGES = 4, 8
MORE = 32
# 20 dB: as near to float without equalization, none of seven networks of the zoo came nearer by it beyond chance.
NEAR = 0.01
# Fine-tuning starts better from equalized weights than its start tells: three mtcnn lost up to .014 without them,
# though one had half the error. So equalization is left for a tenth, or where it leaves noise for a half.
TENTH = 0.1
JUDGED = (
    "Recipe: cross-layer equalization is {choice}: over {samples} samples held out the error of the outputs is {now} "
    "with it and {before} without{calibrated}; {rule}"
)
LEFT = (
    "Recipe: cross-layer equalization is left without a trial: over {samples} samples held out the error of the "
    "outputs is {before} without it{calibrated}"
)
CALIBRATED = ", calibrated with {samples} others"
HAS_TO_GAIN = "it is taken where that is less beyond chance, and of what is noise at most half"
HAS_TO_LOSE = "it is left where without it that is less beyond chance"
HAS_TO_LOSE_MOST = "before fine-tuning it is left where without it that is a tenth, or of noise a half"


class EqualizationTrial:
    """One way to prepare the model, and to quantize it after a few samples; the call knows nothing of it."""

    def __init__(self, call: Call, original: ModelProto) -> None:
        self.call = Call(call.settings, call.ledger.next_answer(call.settings))
        self.graph = prepare(self.call, normalize(self.call, original))
        inputs = {value.name for value in self.graph.write_back().graph.input}
        self.call.samples.constants = self.call.samples.overridable - inputs
        self._statistics = Statistics()

    @property
    def is_equalized(self) -> bool:
        """Whether equalization found something to do."""
        return bool(self.call.report.transforms.get(STEP))

    @property
    def has_energies(self) -> bool:
        """Whether weights may follow the energy of their inputs, and do not yet."""
        return bool(self._statistics.energies) and self.call.call.weight_range is None

    def calibrate(self, feeds: list[Feed], original: ModelProto) -> None:
        """Find ranges by these samples, and let the graph compute what the device does."""
        if feeds:
            self.call.ledger.samples = Samples(feeds, original)
            self._statistics = calibrate(self.call, self.graph)
        self.graph = simulate(self.call, self.graph)

    def error(self, judge: HeldOut, *, by_energy: bool = False) -> NetworkError | None:
        """How far the quantized model is from float, with weights by the energy of their inputs or by the method alone;
        None where onnxruntime does not run it."""
        call, statistics = self.call, self._statistics
        if not (by_energy or call.method.chooses_weights or call.call.weight_range == "energy"):
            statistics = replace(statistics, energies={})
        call.ledger.statistics = statistics
        graph = carry_over(self.graph, Graph(self.graph.write_back()))
        marker = (call.format.marker or Marker)(graph, subgraphs.call_for(call, graph))
        try:
            return judge.error_of(written(make_plan(call, marker, statistics), call))
        except ModelError:
            return None


def judged_equalization(call: Call, original: ModelProto) -> Call:
    """The call with equalization or without: "auto" is on where samples held out are nearer to float with it, and a
    preset's stays unless they are nearer to float without it.

    What the caller asks for is done. Where nothing can be judged, or ranges are stored for later calls, "auto" is off
    and a preset's stays.
    """
    if _is_to_judge(call):
        chosen = _judged(call, original)
        call.samples.rewind()
        if chosen is not None:
            return chosen
    return _with(call, equalized=False) if call.call.include_cle == AUTO else call


def _judged(call: Call, original: ModelProto) -> Call | None:
    known = len(call.samples) or sum(1 for _ in call.samples.again())
    if known < FEWEST:
        return None
    on, off = _with(call, equalized=True), _with(call, equalized=False)
    equalized = EqualizationTrial(on, original)
    if not equalized.is_equalized:
        return None
    plain = EqualizationTrial(off, original)
    judge = held_out(call, plain.graph, known)
    if judge is None:
        return None
    feeds = _others(call, judge, known) if call.settings.needs_data else []
    judges = judge if _is_finetuned(call) or not feeds else judge.few(JUDGES)
    calibrated = CALIBRATED.format(samples=len(feeds)) if feeds else ""
    plain.calibrate(feeds, original)
    before = plain.error(judges)
    if before is not None and before.mean < NEAR and _has_to_gain(call):
        call.note(LEFT.format(samples=len(judges), before=_shown(before), calibrated=calibrated))
        return off
    equalized.calibrate(feeds, original)
    now = equalized.error(judges)
    taken, rule = verdict(call, now, before)
    if now is not None and before is not None and taken and now.mean >= NOISE and equalized.has_energies:
        now, before = (_as_decided(trial, judges, error) for trial, error in ((equalized, now), (plain, before)))
        taken, rule = verdict(call, now, before)
    errors = {"now": _shown(now), "before": _shown(before)}
    choice = "taken" if taken else "left"
    call.note(JUDGED.format(choice=choice, samples=len(judges), calibrated=calibrated, rule=rule, **errors))
    return on if taken else off


def _as_decided(trial: EqualizationTrial, judge: HeldOut, error: NetworkError) -> NetworkError:
    """The error once the recipe has decided on weights by the energy of their inputs."""
    energy = trial.error(judge, by_energy=True)
    return energy if energy is not None and is_clearly_better(energy, error) else error


def _is_to_judge(call: Call) -> bool:
    settings = call.settings
    if settings.call.include_cle != AUTO and not (settings.call.include_cle and OPTION in settings.request.by_preset):
        return False
    if settings.call.recipe != "auto" or not real_samples(call) or call.samples.is_read_once:
        return False
    kept = settings.call.calibration_cache is not None or range_file(settings) is not None
    return not (settings.needs_data and (kept or settings.request.calibration is not None))


def _with(call: Call, *, equalized: bool) -> Call:
    options = call.settings.options.changed({OPTION: equalized})
    return Call(replace(call.settings, options=options), call.ledger)


def _others(call: Call, judge: HeldOut, known: int) -> list[Feed]:
    """A few samples that do not judge."""
    most = MORE if _is_finetuned(call) else FEW
    return picked(call.samples.again(), spread(known, min(most, known - len(judge)), judge.numbers))


def _is_finetuned(call: Call) -> bool:
    """Whether a correction follows that the recipe does not have."""
    settings = call.settings
    corrections = settings.catalog.corrections(settings.lineage)
    return any(settings.enabled(each) and not each.in_recipe for each in corrections)


def _has_to_gain(call: Call) -> bool:
    return bool(call.call.include_cle == AUTO) and not _is_finetuned(call)


def verdict(call: Call, now: NetworkError | None, before: NetworkError | None) -> tuple[bool, str]:
    """Whether equalization is taken, and by which rule."""
    if _is_finetuned(call):
        rule, most = HAS_TO_LOSE_MOST, HALF if now is not None and now.mean >= NOISE else TENTH
    elif _has_to_gain(call):
        return now is not None and (before is None or is_clearly_better(now, before)), HAS_TO_GAIN
    else:
        rule, most = HAS_TO_LOSE, 1.0
    if now is None or before is None:
        return now is not None or before is None, rule
    return not (before.is_better_than(now) and before.mean < most * now.mean), rule


def _shown(error: NetworkError | None) -> str:
    return "unknown, for onnxruntime does not run it," if error is None else f"{error.mean:.3g} of float"
