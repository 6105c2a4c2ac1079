"""Whether an update changes no published column (`skip.messages.without.change`).

A value that an image of the row lacks:

    of a plain column, in both        redo names each plain column that a statement sets: it did not change
    of a plain column, in one         it may have changed
    of a large column, `lob.enabled`  as a plain one; but where the statement set a large value that redo does not hold whole (a piece by
                                      DBMS_LOB), it may have changed, and where one was read from the row, what was before is not known
    of a large column, without        it may have changed: the placeholder stands for each value

An update that may change something is published. A mask of fixed length shows no change at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.messages.envelope.row_format import PrintedColumn
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Row


def is_unchanged(columns: Sequence[PrintedColumn], event: ChangeEvent, before: Row, after: Row, *, lobs: bool) -> bool:
    """Whether it is known that both images print alike. Raises ValueDecodeError for a value that does not fit its column.

    :param columns: the published ones.
    :param lobs: `lob.enabled`.
    """
    known = lobs and not event.has_unknown_large
    return all(column.masked or _is_alike(column, before, after, known) for column in columns)


def _is_alike(column: PrintedColumn, before: Row, after: Row, known: bool) -> bool:
    """Whether it is known that the column prints alike in both rows.

    :param known: redo would have a large value if it had changed.
    """
    old, new = before[column.position], after[column.position]
    if old is UNAVAILABLE or new is UNAVAILABLE:
        return old is new and (known or not column.large)
    return old is new or old == new or column.print(old) == column.print(new)
