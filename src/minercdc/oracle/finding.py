"""What an examination of database, Kafka, registry or disk found: one requirement that does not hold, and its repair."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """What it means that a requirement does not hold; the gravest first."""

    MISSING = 0
    """Capture cannot start, or loses changes."""
    SUSPENDS = 1
    """Rows of a table cannot be decoded: `event.processing.failure.handling.mode` decides; `suspend` leaves out the table's
    changes until it is repaired."""
    ADVICE = 2
    """Capture works with less, or is at risk."""
    UNKNOWN = 3
    """It is not known whether the requirement holds, since something that it is examined by cannot be read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement that does not hold, or may not.

    :param rule: name of the requirement in the catalogue of `minercdc check` (docs/checks.md).
    :param problem: what is missing, and where; text for people.
    :param fix: SQL, or what else to do.
    """

    rule: str
    severity: Severity
    problem: str
    fix: str

    @property
    def blocking(self) -> bool:
        """Whether capture cannot start, or loses changes, until it is fixed."""
        return self.severity is Severity.MISSING

    @property
    def suspends(self) -> bool:
        """Whether a table may be suspended until it is fixed."""
        return self.severity is Severity.SUSPENDS

    @property
    def word(self) -> str:
        """`missing`, `advice` or `unknown`, as `minercdc check` and `minercdc plan` print it."""
        return "missing" if self.severity <= Severity.SUSPENDS else self.severity.name.lower()
