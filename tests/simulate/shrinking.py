"""Makes the plan of a failing history smaller while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulate.chance import FAULTS, Plan

_TRIES = 200


def _smaller(plan: Plan) -> Iterator[Plan]:
    for faults in (0, plan.faults // 2, plan.faults - 1):
        if 0 <= faults < plan.faults:
            yield replace(plan, faults=faults)
    if plan.signals:
        yield replace(plan, signals=0)
    for transactions in (plan.transactions // 2, plan.transactions - 1):
        if 0 < transactions < plan.transactions:
            yield replace(plan, transactions=transactions)
    for kind in FAULTS if plan.faults else ():
        if kind not in plan.without:
            yield replace(plan, without=plan.without | {kind})


def shrink(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """A plan of which nothing can be left out so that it still fails, as far as two hundred tries show."""
    left, tried = _TRIES, {plan}
    again = True
    while again and left:
        again = False
        for smaller in _smaller(plan):
            if smaller in tried or not left:
                continue
            tried.add(smaller)
            left -= 1
            if fails(smaller):
                plan, again = smaller, True
                break
    return plan
