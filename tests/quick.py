"""What `make unit` leaves to `make test`: the files whose tests take the most CPU each, until the others take less than a minute on two cores.

``tests/durations.json`` says what a file took. One that is not in it is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import pytest
from tests.durations import of_file, recorded

# Two processes take a minute with these; collecting takes each some ten seconds.
CPU_SECONDS: Final = 75.0


def dear(tests: Mapping[str, int], spent: Mapping[str, float], most: float = CPU_SECONDS) -> set[str]:
    """The files to leave out.

    :param tests: file -> how many tests it has.
    :param spent: file -> CPU seconds of them; without those that were never measured.
    :param most: CPU seconds that are left.
    """
    left = sum(spent.get(file, 0.0) for file in tests)
    out: set[str] = set()
    for file in sorted(tests, key=lambda file: (-spent.get(file, 0.0) / tests[file], file)):
        if left <= most:
            break
        out.add(file)
        left -= spent.get(file, 0.0)
    return out


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out = dear(Counter(of_file(item.nodeid) for item in items), recorded())
    config.hook.pytest_deselected(items=[item for item in items if of_file(item.nodeid) in out])
    items[:] = [item for item in items if of_file(item.nodeid) not in out]
