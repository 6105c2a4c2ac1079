"""A string beyond 4000 bytes, whose rows are not selected without `lob.enabled`, may have been set and undone: which changes that leaves in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.large_redo import LONG
from tests.unit.capture.logminer.redo import ITEM, A, B, Miner, Redo

from minercdc.capture.logminer.kept.keeping import KeepingRules
from minercdc.capture.logminer.session.row import OpCode
from minercdc.schema.table import Column
from minercdc.stream.events import UNAVAILABLE, ChangeEvent

Step = Callable[[Redo], None]


@pytest.mark.parametrize(("value", "left"), [("'kept'", ["kept"]), ("'before'", []), ("NULL", [])])
def test_what_is_set_back_to_the_value_of_a_change_came_after_it(tmp_path: Path, value: str, left: list[str]) -> None:
    """A string beyond 4000 bytes, whose rows are not selected without `lob.enabled`, was set and undone; or the change itself was."""
    redo = Redo()
    redo.start(A)
    of: dict[str, Any] = {"owner": "LAB", "table": "LONG", "object_id": 83, "row_id": "r1"}
    redo.row(OpCode.UPDATE, A, """update "LAB"."LONG" set "V" = 'kept' where "ID" = '1' and "T" = 't';""", **of)
    redo.row(OpCode.UPDATE, A, f'update "LAB"."LONG" set "V" = {value}', rollback=1, **of)
    redo.commit(A)
    events = [e for e in Miner(tmp_path, tables=(LONG,)).read(redo.rows) if isinstance(e, ChangeEvent)]
    assert [e.after[2] for e in events if e.after] == left


TWO = replace(LONG, columns=(*LONG.columns, Column("X", "VARCHAR2", 32767)))
L1, L2 = "1" * 5000, "2" * 5000
LOST = "unavailable"


def set_v(value: str | None, t: str = "") -> Step:
    text, more = "NULL" if value is None else f"'{value}'", f""", "T" = '{t}'""" if t else ""
    sql = f"""update "LAB"."LONG" set "V" = {text}{more} where "ID" = '1' and "T" = 't';"""
    return lambda redo: on_long(redo, OpCode.UPDATE, sql)


def back_to(value: str | None, t: str = "") -> Step:
    text, more = "NULL" if value is None else f"'{value}'", f""", "T" = '{t}'""" if t else ""
    return lambda redo: on_long(redo, OpCode.UPDATE, f'update "LAB"."LONG" set "V" = {text}{more}', rollback=1)


def set_only_t(value: str) -> Step:
    return lambda redo: on_long(redo, OpCode.UPDATE, f"""update "LAB"."LONG" set "T" = '{value}' where "ID" = '1';""")


def t_back(redo: Redo) -> None:
    on_long(redo, OpCode.UPDATE, """update "LAB"."LONG" set "T" = 't'""", rollback=1)


def set_both(value: str) -> Step:
    sql = f"""update "LAB"."LONG" set "V" = '{value}', "X" = NULL where "ID" = '1' and "T" = 't';"""
    return lambda redo: on_long(redo, OpCode.UPDATE, sql)


def both_back(value: str) -> Step:
    return lambda redo: on_long(redo, OpCode.UPDATE, f"""update "LAB"."LONG" set "V" = '{value}', "X" = NULL""", rollback=1)


def insert_back(redo: Redo) -> None:
    on_long(redo, OpCode.DELETE, 'delete from "LAB"."LONG"', rollback=1)


def on_long(redo: Redo, code: int, sql: str, **other: Any) -> None:
    redo.row(code, A, sql, owner="LAB", table="LONG", object_id=83, row_id="r1", **other)


# What LogMiner shows, and the values of V that the events give.
STRINGS: dict[str, tuple[list[Step], list[str | None]]] = {
    "one after it": ([set_v("kept"), back_to("kept")], ["kept"]),
    "two after it": ([set_v("kept"), back_to(L1), back_to("kept")], ["kept"]),
    "three after it": ([set_v("kept"), back_to(L2), back_to(L1), back_to("kept")], ["kept"]),
    "two after each of two": ([set_v("a"), set_v("b"), back_to(L1), back_to("b"), back_to("a")], ["a"]),
    "two after NULL": ([set_v(None), back_to(L1), back_to(None)], [None]),
    "it was undone": ([set_v("undone"), back_to("old")], []),
    "it was undone, after two": ([set_v("undone"), back_to(L1), back_to("undone"), back_to("old")], []),
    "it was undone to NULL": ([set_v("undone"), back_to(None)], []),
    "a long one before it, too": ([set_v("undone"), back_to(L1), back_to("old")], []),
    "a long one before it, after what is kept": ([set_v("kept"), set_v("undone"), back_to(L1), back_to("kept")], ["kept"]),
    "both of the same value": ([set_v("undone"), set_v("undone"), back_to("undone"), back_to("old")], []),
    "one of the same value": ([set_v("kept"), set_v("kept"), back_to("kept")], ["kept"]),
    "with what changed another column before it": (
        [set_only_t("undone"), set_v("undone"), back_to(L1), t_back],
        [],
    ),
    "with an INSERT before it": (
        [
            lambda r: on_long(r, OpCode.INSERT, """insert into "LAB"."LONG"("ID","T","V") values ('1','t',NULL);"""),
            set_v("undone"),
            back_to(L1),
            insert_back,
        ],
        [],
    ),
    "after what set another column": ([set_v("kept"), set_only_t("x"), back_to(L1), back_to("kept")], ["kept", LOST]),
    "nothing decides": ([set_v('it\'s where "ID" = 1'), back_to(L1)], [LOST]),
    "nothing decides, of two": ([set_v("a"), set_v("b"), back_to(L1), back_to(L2)], [LOST, LOST]),
    "nothing decides, of the latest": ([set_v("a"), set_v("b"), back_to(L1)], ["a", LOST]),
    "a change after it decides nothing": ([set_v("a"), back_to(L1), set_v("b"), back_to(L1)], [LOST, LOST]),
    "to the value before it, with what changed another column before it": (
        [set_only_t("undone"), set_v(None), back_to(None), t_back],
        [],
    ),
    "with a string that it left as it was": ([set_v("undone"), set_both("undone"), both_back("undone"), back_to("old")], []),
    "with another column, which is always seen": ([set_v("kept"), set_v("undone", "x"), back_to(L1, "t")], ["kept"]),
}


@pytest.fixture(params=["in memory", "spilled", "kept"])
def strings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Miner]:
    keep = KeepingRules(timedelta(0), "16 digits") if request.param == "kept" else None
    memory_max = 1 << 30 if request.param == "in memory" else 1
    miner = Miner(tmp_path, tables=(TWO, ITEM), memory_max=memory_max, keep=keep)
    yield miner
    miner.assembly.close()


@pytest.mark.parametrize("case", STRINGS)
def test_a_change_of_a_string_is_neither_lost_nor_left_by_undo_of_what_is_not_seen(strings: Miner, case: str) -> None:
    steps, left = STRINGS[case]
    redo = Redo()
    redo.start(A)
    redo.insert(B, 5)
    for step in steps:
        step(redo)
        redo.insert(B, 5)
    for rows in ([row] for row in redo.rows):
        strings.read(rows)
    redo.rows.clear()
    redo.commit(A)
    events = [e for e in strings.read(redo.rows) if isinstance(e, ChangeEvent)]
    assert [LOST if e.after[2] is UNAVAILABLE else e.after[2] for e in events if e.after] == left
