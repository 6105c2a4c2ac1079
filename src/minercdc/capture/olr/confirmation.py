"""Confirms delivered messages to the server, which then discards them.

The server keeps what it has sent until it is confirmed, and sends no more once its queue is full. A confirmation names a
place; the server drops messages at or below it from the head of its queue, and after a restart of its own it leaves out all
that lies at or below. So one is sent only when every message that can lie there is stored by the sink. It depends on what
`c_scn` is:

    c_scn of the commit   it never goes back: all below the highest one are there; the highest itself after 5 s without a message
    c_scn of the begin    an older transaction may still commit: all below the start of the oldest one that is not stored

Which of the two it is shows when a transaction's `c_scn` differs from the SCN it began at (`b_scn`), or is that of its commit,
or when `c_scn` goes back; until then it counts as that of the begin.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Literal

from minercdc.capture.olr.message import Place
from minercdc.capture.olr.position import OlrPosition
from minercdc.errors import SourceError

_REST_SECONDS = 5.0


@dataclass(slots=True)
class _Unit:
    """Messages that belong together: a transaction, or one message beside transactions. `place` is the highest of them."""

    place: Place


class Confirmations:
    """Keeps the places of what was received on one connection, in order, until they are confirmed; one for each connection,
    used by one thread. The caller notes each message (`note`), each complete unit (`end`), each emitted position (`issue`)
    and each stored one (`stored`), and sends what `due` returns.

    :param meaning: `minercdc.olr.c.scn`.
    :ivar seen: highest place of what was received, on this connection or before; None for nothing.
    """

    def __init__(self, meaning: Literal["auto", "commit", "begin"], seen: Place | None) -> None:
        self._configured = meaning
        self._meaning = meaning
        self._units: deque[_Unit] = deque()
        self._taken = 0  # units that were confirmed and are not in `_units` any more
        self._issued: deque[tuple[OlrPosition, int]] = deque()
        self._durable = 0  # number of the units that are stored
        self._last: Place | None = None
        self._moved = monotonic()
        self._sent: Place | None = None
        self.seen = seen

    def note(self, place: Place, *, checkpoint: bool = False) -> None:
        """Note that a message has come. With `c_scn` of the commit, its highest value is confirmed only 5 s after the last
        message: each message starts these seconds again, except a checkpoint at the `c_scn` of the message before.

        :param checkpoint: the message holds nothing but checkpoints.
        :raises SourceError: `c_scn` went back, though it is the commit's as configured or found.
        """
        if self._last is not None and place.scn < self._last.scn:
            if self._meaning == "commit":
                raise SourceError(
                    f"c_scn went back from {self._last.scn} to {place.scn}: this build of OpenLogReplicator orders by"
                    " the begin of transactions",
                    hint="Use release 1.9.0, or set minercdc.olr.c.scn=begin.",
                )
            self._meaning = "begin"
        if not checkpoint or self._last is None or place.scn != self._last.scn:
            self._moved = monotonic()
        self._last = place
        self.seen = place if self.seen is None else max(self.seen, place)

    def judge(self, c_scn: int, begin_scn: int | None, commit_scn: int) -> None:
        """Find out whether `c_scn` is the commit's, from a whole transaction with changes of rows: it commits at a higher SCN
        than it began at. No effect once the meaning is known, or where this transaction does not show it.

        :param c_scn: of the transaction's last message.
        :param begin_scn: None when not known.
        """
        if self._meaning == "auto" and (c_scn == commit_scn if begin_scn is None else begin_scn not in (c_scn, commit_scn)):
            self._meaning = "commit"

    def end(self, place: Place) -> None:
        """Note that a unit is complete, a transaction or a message beside transactions; `place` is the highest of its
        messages."""
        self._units.append(_Unit(place))

    def issue(self, position: OlrPosition) -> None:
        """Note that a position which covers all units noted so far is about to be emitted."""
        count = self._taken + len(self._units)
        if self._issued and self._issued[-1][0] == position:
            self._issued[-1] = (self._issued[-1][0], count)
            return
        self._issued.append((position, count))

    def stored(self, position: OlrPosition) -> None:
        """Note that a position given to `issue` is durable in the sink, and all before it; another position has no effect."""
        known = [i for i, (issued, _) in enumerate(self._issued) if issued == position]
        if known:
            for _ in range(known[-1] + 1):
                _, self._durable = self._issued.popleft()

    def due(self, begun: int) -> Place | None:
        """The place to confirm now: the highest one of the units that are stored and can be confirmed; None when there is
        none above the last one. It counts as confirmed from then on.

        :param begun: every transaction that is not delivered began there or later.
        """
        if self._meaning == "commit" and self._last is not None:
            rests = monotonic() - self._moved >= _REST_SECONDS
            bound = self._last.scn + 1 if rests else self._last.scn
        else:  # one that came later may have begun before: the server would drop it, too
            waiting = islice(self._units, self._durable - self._taken, None)
            bound = min((unit.place.scn for unit in waiting), default=begun)
            bound = min(bound, begun)
        found: Place | None = None
        while self._units and self._taken < self._durable and self._units[0].place.scn < bound:
            place = self._units.popleft().place
            self._taken += 1
            found = place if found is None else max(found, place)
        if found is None or (self._sent is not None and found <= self._sent):
            return None
        self._sent = found
        return found
