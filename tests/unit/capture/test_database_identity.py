"""Which pluggable databases a position is of: by their ids, whatever they are called by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minercdc.capture.database_identity import other_pdbs, pdb_ids
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import PrerequisiteError, TransientSourceError
from minercdc.oracle.scn import PdbIdentity

SALES, STOCK = PdbIdentity(7, 70, 1), PdbIdentity(8, 80, 1)


class Inside:
    """A connection to a pluggable database, as far as its identity is read."""

    def __init__(self, identity: PdbIdentity) -> None:
        self._identity = identity
        self._found = 0

    def cursor(self) -> Inside:
        return self

    def __enter__(self) -> Inside:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, _: object = None) -> None:
        views = ("CON_DBID FROM V$DATABASE", "CON_UID", "V$PDB_INCARNATION")
        self._found = next(number for view, number in zip(views, self._identity, strict=True) if view in sql)

    def fetchone(self) -> tuple[int]:
        return (self._found,)

    def close(self) -> None:
        pass


def at(identity: PdbIdentity) -> Callable[[], Any]:
    return lambda: Inside(identity)


def refused(error: Exception) -> Callable[[], Any]:
    def connect() -> Any:
        raise error

    return connect


GONE = PrerequisiteError("going to container SALES: ORA-65011: Pluggable database SALES does not exist.")
CLOSED = TransientSourceError("going to container SALES: ORA-01109: database not open")


@pytest.mark.parametrize("stored", [{"SALES": SALES, "STOCK": STOCK}, {}], ids=["its ids are known", "they are not"])
def test_a_database_that_is_not_there_by_its_name_ends_the_stream(stored: dict[str, PdbIdentity]) -> None:
    """Its redo has another name, or none, so that its rows would be missing without a word."""
    position = LogMinerPosition(pdbs=("SALES", "STOCK"), pdb_ids=stored)
    gap = other_pdbs({"SALES": refused(GONE), "STOCK": at(STOCK)}, position)
    assert gap is not None
    assert "no pluggable database SALES any more" in gap.message
    assert other_pdbs({"SALES": refused(CLOSED), "STOCK": at(STOCK)}, position) is None
    assert pdb_ids({"SALES": refused(GONE), "STOCK": at(STOCK)}) == {"STOCK": STOCK}


@pytest.mark.parametrize(
    ("places", "problem"),
    [
        ({"SALES": SALES}, ""),
        ({"RENAMED": SALES}, ""),
        ({"STOCK": STOCK}, "CON_DBID 7, but it has CON_DBID 8"),
        ({"RENAMED": SALES._replace(con_uid=71)}, "RENAMED with CON_UID 70"),
        ({"SALES": SALES._replace(con_resetlogs=9)}, "SALES was opened with RESETLOGS"),
    ],
)
def test_a_position_goes_on_in_no_other_database_of_the_container_database(
    places: dict[str, PdbIdentity], problem: str
) -> None:
    """Rows of before would be missing, and those of two databases come in one topic."""
    position = LogMinerPosition(pdb_ids={"SALES": SALES})
    gap = other_pdbs({name: at(identity) for name, identity in places.items()}, position)
    assert problem in (gap.message if gap else "")
    assert (gap is None) == (not problem)


def test_a_database_that_is_left_out_is_not_looked_for() -> None:
    position = LogMinerPosition(pdbs=("SALES",), pdb_ids={"SALES": SALES, "STOCK": STOCK})
    assert other_pdbs({"SALES": at(SALES)}, position) is None
