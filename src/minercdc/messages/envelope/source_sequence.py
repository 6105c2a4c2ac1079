"""The token of `source.sequence`: a JSON array of three texts that puts the changes of a connector into one order.

    SCN            19 digits: of the commit; of a row that was read, the SCN it was read at; of a DDL, its own
    transaction    `TransactionInfo.id`; `read` for a row without one, and a structure that was read; `schema` for a DDL
    number         12 digits: `ChangeEvent.seq`, 0 for rows that were read and for DDL

Numbers have one width, so tokens compare as text. A change has the same token whenever it is delivered, and the next change of its
row a greater one: whoever changes a row that another transaction has changed commits at a higher SCN. Transactions that
committed at one SCN did not change the same row; their XIDs order them. A row that was read shows all commits at its SCN, so it
comes after their XIDs; a DDL takes effect after both. Rows that were read as of one SCN share their token.
"""

from __future__ import annotations

from minercdc.stream.events import ChangeEvent, SchemaChange

NONE = "null"
_READ, _SCHEMA = "read", "schema"


def of_change(event: ChangeEvent) -> str:
    """The token of a row change as a JSON string; `null` where its SCN is not known."""
    tx = event.tx
    return _printed(event.scn, _READ, 0) if tx is None else _printed(tx.commit_scn, tx.id, event.seq)


def of_schema_change(change: SchemaChange) -> str:
    """The token of a DDL, or of a structure that a snapshot read, as `of_change` gives it."""
    return _printed(change.scn, _READ if change.snapshot else _SCHEMA, 0)


def _printed(scn: int, transaction: str, number: int) -> str:
    return f'"[\\"{scn:019d}\\",\\"{transaction}\\",\\"{number:012d}\\"]"' if scn > 0 else NONE
