"""The hardware's rules are bounds on positions; one solver finds the positions of least error within all of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..solver import adjust_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..plan import Bound, Plan
    from ..request.call import Call
    from ..request.settings import Settings

COSTLY = "{} moved {} from position {} to {}, which costs more than half of what any rounding did before"


def within_rules(call: Call, plan: Plan) -> Plan:
    """The plan, moved into the bounds of all rules; what moved and what could not is in the report."""
    off = why_off(call.settings)
    if off is not None:
        call.note(off)
    bounds = list(bounds_of_rules(call, plan))
    if bounds:
        moves, violations = adjust_plan(plan, bounds)
        call.report.moves.extend(moves)
        call.report.violations.extend(violations)
        for move in moves:
            if move.costly:
                call.note(COSTLY.format(" and ".join(move.rules), move.tensor, move.before, move.after))
    return plan


def bounds_of_rules(call: Call, plan: Plan) -> Iterator[Bound]:
    """The bounds of the plan's own and of the target's rules, rule by rule in the order in which they are declared."""
    yield from plan.bounds
    settings = call.settings
    if not settings.rules_hold:
        return
    nodes = list(plan.graph.sorted())
    for rule in settings.catalog.adjusters(settings.lineage):
        if settings.enabled(rule) and settings.switched_on(rule.option):
            for node in nodes:
                if node.op_type in rule.ops:
                    yield from rule(plan, node)


def why_off(settings: Settings) -> str | None:
    """Why the target's rules on positions do not apply; None where they do, or where there are none."""
    if settings.rules_hold or not settings.catalog.adjusters(settings.lineage):
        return None
    if not settings.method.power_of_two:
        why = f"calibrate_method={settings.method.key} gives scales that are no powers of two"
    else:
        why = f"activations {settings.activation} and weights {settings.weight} are not what its device computes in"
    return f"target {settings.target.name}: its rules on positions are off, for {why}"
