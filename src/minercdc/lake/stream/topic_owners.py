"""Which of several tables of one topic has it, as far as the schema history and the connector's offset say; the connector refuses the
others (`messages.topics`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minercdc.errors import SharedTopicError
from minercdc.schema.table import TableId


@dataclass(frozen=True, slots=True)
class TopicTable:
    """A table of the topic.

    :param is_there: it exists in the source, and is captured.
    :param code: of the error that it is suspended for, '' when it is not.
    """

    table: TableId
    is_there: bool
    code: str = ""


def owner_of(tables: Sequence[TopicTable]) -> TableId | None:
    """The table whose rows are in the topic; None where that cannot be said, so that no rows are taken for those of another table.

    :param tables: in the order in which the connector met the tables; at least one.
    """
    if len(tables) == 1:
        return tables[0].table
    # One that is suspended since its topic is another table's has no rows there.
    written = [table for table in tables if table.code != SharedTopicError.code]
    if there := [table for table in written if table.is_there]:
        # A table that is suspended for another reason may have given its topic up, or not yet.
        return None if len(there) > 1 and any(table.code for table in there) else there[0].table
    return written[0].table if len(written) == 1 else None
