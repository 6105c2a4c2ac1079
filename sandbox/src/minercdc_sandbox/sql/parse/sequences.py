"""Options of CREATE and ALTER SEQUENCE and of identity columns."""

from __future__ import annotations

from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Sequence
from minercdc_sandbox.sql.parse.statements import Parser

_FLAGS: dict[str, tuple[str, bool | int]] = {
    "ORDER": ("ordered", True),
    "NOORDER": ("ordered", False),
    "CYCLE": ("cycle", True),
    "NOCYCLE": ("cycle", False),
    "NOCACHE": ("cache", 0),
    "NOMAXVALUE": ("no_maximum", True),
    "NOMINVALUE": ("no_minimum", True),
    "RESTART": ("restart", True),
}
"""Options of one word: the attribute of `SequenceOptions` and its value."""
HIGHEST, LOWEST = 10**28 - 1, -(10**27 - 1)


@dataclass(slots=True)
class SequenceOptions:
    """The options of a sequence that a statement gives; None or False: not given.

    :ivar start: also None of START WITH LIMIT VALUE, with which `limit` is set.
    :ivar no_maximum: NOMAXVALUE is given; `no_minimum` alike.
    :ivar cache: number of values; 0 is NOCACHE.
    :ivar restart: RESTART is given: the next value is `start`, without one the minimum, or of a falling sequence the maximum.
    """

    start: int | None = None
    increment: int | None = None
    maximum: int | None = None
    minimum: int | None = None
    no_maximum: bool = False
    no_minimum: bool = False
    cycle: bool | None = None
    cache: int | None = None
    ordered: bool | None = None
    restart: bool = False
    limit: bool = False

    def apply(self, sequence: Sequence, *, new: bool) -> None:
        """Change a sequence by the options; a `new` one also takes the defaults of those not given. Locks and saves nothing.

        Raises, with the sequence changed already, ORA-04002, ORA-04004, ORA-04006 to ORA-04009 and ORA-04013 for values that
        contradict each other.
        """
        if self.increment is not None:
            sequence.increment = self.increment
        rising = sequence.increment > 0
        if new or self.no_maximum:
            sequence.maximum = HIGHEST if rising else -1
        if new or self.no_minimum:
            sequence.minimum = 1 if rising else LOWEST
        sequence.maximum = sequence.maximum if self.maximum is None else self.maximum
        sequence.minimum = sequence.minimum if self.minimum is None else self.minimum
        sequence.cycle = sequence.cycle if self.cycle is None else self.cycle
        sequence.cache = sequence.cache if self.cache is None else self.cache
        sequence.ordered = sequence.ordered if self.ordered is None else self.ordered
        if new or self.restart or self.start is not None:
            first = sequence.minimum if rising else sequence.maximum
            sequence.start = first if self.start is None else self.start
            sequence.next = sequence.cached_to = sequence.start
        elif self.increment is not None and sequence.next is not None:
            sequence.cached_to = sequence.next
        _consistent(sequence)


def _consistent(sequence: Sequence) -> None:
    if sequence.increment == 0:
        raise OraError(4002, "INCREMENT must be a nonzero integer")
    if sequence.minimum >= sequence.maximum:
        raise OraError(4004, "MINVALUE must be less than MAXVALUE")
    if sequence.start < sequence.minimum:
        raise OraError(4006, "START WITH cannot be less than MINVALUE")
    if sequence.start > sequence.maximum:
        raise OraError(4008, "START WITH cannot be more than MAXVALUE")
    if sequence.next is not None and sequence.next > sequence.maximum:
        raise OraError(4009, "MAXVALUE cannot be made to be less than the current value")
    if sequence.next is not None and sequence.next < sequence.minimum:
        raise OraError(4007, "MINVALUE cannot be made to exceed the current value")
    if sequence.cycle and sequence.cache * abs(sequence.increment) > sequence.maximum - sequence.minimum + 1:
        raise OraError(4013, "number to CACHE must be less than one cycle")


def sequence_options(parser: Parser) -> SequenceOptions:
    """Read the options that come next, in any order; none given if there are none. Raises ORA-02017 for a value that is no
    integer, ORA-04010 for a CACHE below 2, ORA-03001 for KEEP and SCALE."""
    found = SequenceOptions()
    while True:
        if parser.word("START", "WITH"):
            found.limit = parser.word("LIMIT", "VALUE")
            found.start = None if found.limit else _number(parser)
        elif parser.word("INCREMENT", "BY"):
            found.increment = _number(parser)
        elif parser.word("MAXVALUE"):
            found.maximum = _number(parser)
        elif parser.word("MINVALUE"):
            found.minimum = _number(parser)
        elif parser.word("CACHE"):
            at = parser.token.start
            found.cache = _number(parser)
            if found.cache < 2:
                raise OraError(4010, "the number of values to CACHE must be greater than 1", at)
        elif parser.is_any_word(*_FLAGS):
            setattr(found, *_FLAGS[parser.take().text])
        elif parser.is_any_word("KEEP", "SCALE"):
            raise OraError(3001, f"unimplemented feature: sequence option {parser.token.text}")
        elif not parser.any_word("NOKEEP", "NOSCALE"):
            return found


def _number(parser: Parser) -> int:
    sign = -1 if parser.op("-") else 1
    return sign * parser.integer()
