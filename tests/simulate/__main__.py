"""`python -m tests.simulate`: histories from one seed to the next, to the first that fails."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from itertools import count

from tests.simulate.chance import FAULTS, Plan
from tests.simulate.shrinking import shrink
from tests.simulate.world import Outcome, simulate


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulate", description="Simulate histories of a connector; see docs/simulation.md."
    )
    parser.add_argument("--seeds", type=int, help="how many histories; default: as many as make MINERCDC_STARTS starts")
    parser.add_argument("--starts", type=int, default=int(os.environ.get("MINERCDC_STARTS", "10000")), help="0: for ever")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seed", type=int, help="one history, with its trace")
    parser.add_argument("--shrink", action="store_true", help="make a failing history smaller")
    parser.add_argument("--go-on", action="store_true", help="go on after a history that fails")
    parser.add_argument("--digest", action="store_true", help="print the hash of the trace only")
    parser.add_argument("--transactions", type=int, default=Plan(0).transactions)
    parser.add_argument("--faults", type=int, default=Plan(0).faults)
    parser.add_argument("--signals", type=int, default=Plan(0).signals)
    parser.add_argument("--without", action="append", choices=FAULTS, default=[])
    parser.add_argument("--python", action="store_true", help="the Python path")
    return parser.parse_args()


def _report(outcome: Outcome) -> None:
    print("\n".join(outcome.trace))
    if outcome.error is not None:
        traceback.print_exception(outcome.error)
    print(f"seed {outcome.plan.seed} FAILS: {outcome.problem}")
    print(f"faults: {', '.join(outcome.faults)}")
    print(f"replay: {outcome.plan.command()}")


def main() -> int:
    """0 when every history was right."""
    given = _arguments()

    def plan(seed: int) -> Plan:
        return Plan(seed, given.transactions, given.faults, frozenset(given.without), given.signals, given.python)

    if given.seed is not None:
        outcome = simulate(plan(given.seed), verbose=not given.digest and not given.shrink)
        if given.digest:
            print(outcome.digest)
            return 0
        return _judged(outcome, smaller=given.shrink)
    began, starts, failed = time.process_time(), 0, 0
    for done in count():
        if done == given.seeds or (given.seeds is None and given.starts and starts >= given.starts):
            break
        outcome = simulate(plan(given.first + done))
        starts += outcome.starts
        if outcome.problem:
            failed += 1
            _judged(outcome, smaller=given.shrink)
            if not given.go_on:
                break
    took = time.process_time() - began
    print(
        f"{done} histories, {starts} starts, {failed} failed, {took:.0f} s of CPU, {starts / took * 60:.0f} starts a minute of it"
    )
    return int(failed > 0)


def _judged(outcome: Outcome, *, smaller: bool) -> int:
    if not outcome.problem:
        print(f"seed {outcome.plan.seed}: {outcome.starts} starts, all right; trace {outcome.digest}")
        return 0
    if smaller:
        outcome = simulate(shrink(outcome.plan, lambda plan: bool(simulate(plan).problem)))
    _report(outcome)
    return 1


if __name__ == "__main__":
    sys.exit(main())
