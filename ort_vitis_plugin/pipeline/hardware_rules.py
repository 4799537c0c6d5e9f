"""The hardware's rules are bounds on positions; one solver finds the positions of least error within all of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..solver import adjust_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..plan import Bound, Plan
    from ..request.settings import Run


def within_rules(run: Run, plan: Plan) -> Plan:
    """The plan, moved into the bounds of all rules; what moved and what could not is in the report."""
    bounds = list(rules(run, plan))
    if bounds:
        moves, violations = adjust_plan(plan, bounds)
        run.report.moves.extend(moves)
        run.report.violations.extend(violations)
    return plan


def rules(run: Run, plan: Plan) -> Iterator[Bound]:
    """The bounds of the plan's own and of the target's rules, rule by rule in the order in which they are declared."""
    yield from plan.bounds
    if run.activation.is_wide or run.weight.is_wide or not run.method.power_of_two:
        return
    nodes = list(plan.graph.sorted())
    for rule in run.catalog.adjusters(run.lineage):
        if run.enabled(rule) and (rule.option.needs is None or run.options.get(rule.option.needs, True)):
            for node in nodes:
                if node.op_type in rule.ops:
                    yield from rule(plan, node)
