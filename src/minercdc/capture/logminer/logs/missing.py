"""Logs of a redo thread that are needed and not listed, and the error that names them."""

from __future__ import annotations

from minercdc.errors import LogGapError


class MissingLogError(Exception):
    """Logs of a thread that are needed are not listed. Within `logs` only: `gap` makes the error that is raised further.

    :param first, last: sequence numbers of the first and the last of them in a row; 0: not known.
    :param from_scn, to_scn: what they hold of what is needed; `to_scn` 0: to the present.
    """

    def __init__(self, thread: int, first: int, last: int, from_scn: int, to_scn: int) -> None:
        super().__init__(thread, first, last, from_scn, to_scn)
        self._is_one = first == last or last == 1
        self._are_several = 0 < first < last
        if self._is_one:
            logs = f"log sequence {last or '?'}"
        else:
            logs = f"log sequences {first} to {last}" if first else f"redo up to log sequence {last}"
        self._logs = f"redo thread {thread}: {logs} (SCN {from_scn} to {to_scn or 'the present'})"

    def gap(self, *, received: bool) -> LogGapError:
        """The error to raise in its place, with a hint of what to restore.

        :param received: the logs are those that a downstream database has received.
        """
        if received:
            have, are = ("have", "are") if self._are_several else ("has", "is")
            return LogGapError(
                f"{self._logs} {have} not reached the downstream database, and {are} needed; later ones may have",
                hint="The log may still be shipped: see V$ARCHIVE_DEST_STATUS of the source, and start the connector again when"
                " V$FOREIGN_ARCHIVED_LOG has the log. While only the source has it, capture.mode=primary goes on from the same offset;"
                " when it is lost, remove the connector's offset and take a new snapshot.",
            )
        return LogGapError(
            f"{self._logs} {'are' if self._are_several else 'is'} neither online nor in the archive",
            hint=f"Restore the archived {'log' if self._is_one else 'logs'}, or remove the connector's offset and take a new snapshot.",
        )
