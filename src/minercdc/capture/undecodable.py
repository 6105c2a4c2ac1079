"""Completes the UndecodableRow that stands for a row of a suspended table, or for one that cannot be decoded."""

from __future__ import annotations

import logging

from minercdc.errors import DecodeError
from minercdc.stream.events import UndecodableRow

_log = logging.getLogger(__name__)


def suspended(row: UndecodableRow) -> UndecodableRow:
    """The same object, marked as a row of a suspended table, which is read again later: sets `reason` and `counted`."""
    row.reason, row.counted = "the table is suspended", True
    return row


def undecodable(row: UndecodableRow, error: DecodeError, where: str, on_failure: str) -> UndecodableRow:
    """The same object, with `reason`, `code` and `hint` of the error set. Logs a warning when `on_failure` is `warn`.

    :param where: the row's place in the source.
    :param on_failure: `event.processing.failure.handling.mode`.
    :raises DecodeError: `on_failure` is `fail`; the error has the type of `error`, and the place.
    """
    located = type(error)(error.message, where=where, hint=error.hint)
    if on_failure == "fail":
        raise located from error
    if on_failure == "warn":
        _log.warning("a row is left out: %s", located)
    row.reason, row.code, row.hint = f"{located.code}: {located.message}", located.code, located.hint
    return row
