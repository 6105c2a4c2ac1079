"""All that is chosen in one simulated history, from its seed; and what was done, as a trace whose hash says whether two runs are the same."""

from __future__ import annotations

import hashlib
import random
from collections import deque
from dataclasses import dataclass
from typing import Final

_SHOWN = 60
FAULTS: Final = (
    "crash",
    "freeze",
    "error",
    "delay",
    "undecided",
    "aborted",
    "leader",
    "lost connection",
    "mining",
    "late",
    "early",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a history is made of; a failing one is made smaller by smaller plans.

    :param transactions: of the source, about.
    :param faults: at most so many happen.
    :param without: kinds of faults, see `FAULTS`, that do not happen.
    :param signals: snapshots that are requested.
    :param python: the Python path, whatever the seed says.
    """

    seed: int
    transactions: int = 14
    faults: int = 12
    without: frozenset[str] = frozenset()
    signals: int = 1
    python: bool = False

    def command(self) -> str:
        """What replays it."""
        words = [f"python -m tests.simulate --seed {self.seed} --transactions {self.transactions} --faults {self.faults}"]
        words += [f"--signals {self.signals}", *(f"--without '{kind}'" for kind in sorted(self.without))]
        return " ".join([*words, "--python"] if self.python else words)


class Trace:
    """What happened, in order. Two runs of one seed have the same one.

    :param verbose: print each line.
    """

    def __init__(self, *, verbose: bool = False) -> None:
        self._hash = hashlib.sha256()
        self._verbose = verbose
        self.count = 0
        self.last: deque[str] = deque(maxlen=_SHOWN)

    def note(self, line: str) -> None:
        self._hash.update(line.encode())
        self._hash.update(b"\n")
        self.count += 1
        self.last.append(line)
        if self._verbose:
            print(line)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class Chance:
    """Chances of one kind, independent of how often the other kinds are asked: so that a smaller plan changes little else."""

    def __init__(self, seed: int, kind: str) -> None:
        self._random = random.Random(f"{seed}/{kind}")

    def hits(self, probability: float) -> bool:
        return self._random.random() < probability

    def below(self, end: int) -> int:
        return self._random.randrange(end)

    def between(self, least: float, most: float) -> float:
        return self._random.uniform(least, most)

    def of(self, choices: list[str] | tuple[str, ...]) -> str:
        return choices[self._random.randrange(len(choices))]

    def hexadecimal(self, digits: int) -> str:
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"
