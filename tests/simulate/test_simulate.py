"""Simulated histories are right, are the same for the same seed, and find every rule of the engine that is taken away."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulate import seams
from tests.simulate.chance import Plan
from tests.simulate.mutations import MUTATIONS
from tests.simulate.shrinking import shrink
from tests.simulate.world import simulate

SEEDS = int(os.environ.get("MINERCDC_SIMULATED", "100"))
_GROUPS = 8
# A change of the engine gives seeds other histories. Then these are tried, long ones without faults for what is rare.
_OTHERS = [*(Plan(seed, python=True) for seed in range(1, 60)), *(Plan(seed, 60, 0, python=True) for seed in range(1, 150))]


@pytest.fixture(autouse=True, scope="module")
def _real_things_afterwards() -> Iterator[None]:
    yield
    seams.leave()


@pytest.mark.parametrize("group", range(_GROUPS))
def test_every_history_is_right(group: int) -> None:
    for seed in range(1 + group, 1 + SEEDS, _GROUPS):
        outcome = simulate(Plan(seed))
        assert not outcome.problem, f"{outcome.problem}\nreplay: {outcome.plan.command()}"


def test_a_seed_has_one_trace() -> None:
    """Twice in this process, and in processes with other hashes of text."""
    for seed in (4, 5):
        digests = {simulate(Plan(seed)).digest, simulate(Plan(seed)).digest}
        for hashes in ("1", "2"):
            printed = subprocess.run(
                [sys.executable, "-m", "tests.simulate", "--seed", str(seed), "--digest"],
                capture_output=True,
                text=True,
                check=True,
                cwd=Path(__file__).parents[2],
                env={**os.environ, "PYTHONHASHSEED": hashes},
            )
            digests.add(printed.stdout.strip())
        assert len(digests) == 1


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_rule_that_is_missing_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation = MUTATIONS[name]
    mutation.remove(monkeypatch)
    for plan in (Plan(mutation.seed, python=True), *_OTHERS):
        if simulate(plan).problem:
            return
    pytest.fail(f"{len(_OTHERS) + 1} histories did not find it")


def test_a_failing_history_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A savepoint that is not undone needs no fault to be found."""
    mutation = MUTATIONS["rows of a rolled back savepoint stay"]
    mutation.remove(monkeypatch)
    plan = Plan(mutation.seed, python=True)
    smaller = shrink(plan, lambda one: bool(simulate(one).problem))
    assert smaller.faults == 0
    assert smaller.signals == 0
    assert smaller.transactions < plan.transactions
    assert simulate(smaller).problem
