"""Which mode a table has, when what is in a merge has to come in steps, and what the modes make of it; without Spark."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import MagicMock

import pytest
from tests.unit.lake.properties import PROPERTIES, SEVERAL
from tests.unit.lake.test_pending import TABLE, arrival, history

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError
from minercdc.lake.merge import modes
from minercdc.lake.merge.modes import MODES, modes_of, soft_clauses, soft_matches, version_clauses
from minercdc.lake.merge.pending import clearings, pending, stages
from minercdc.lake.merge.rows import Clear, MergeStep, matches
from minercdc.lake.merge.table_merge import key_since, rekeyings
from minercdc.lake.read.decode import RowDecoder
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.format import Applied
from minercdc.lake.table.history import Field, TableHistory, TableVersion
from minercdc.schema.table import Column, TableId, TableSchema


def parsed(**lake: str) -> ConnectorConfig:
    return parse_properties(PROPERTIES | {f"minercdc.lake.{name.replace('_', '.')}": value for name, value in lake.items()})


def test_the_first_entry_that_matches_a_table_counts_and_else_the_mode_of_all() -> None:
    of = modes_of(parsed(mode="soft_delete", table_modes="SHOP[.]AUDIT.* : append, shop.*:scd2, SHOP.ORDERS:mirror"))
    names = ("SHOP.AUDIT_1", "SHOP.ORDERS", "HR.PEOPLE", "XSHOP.T")
    found = {name: of(TableId("D", *name.split("."))).name for name in names}
    assert found == {"SHOP.AUDIT_1": "append", "SHOP.ORDERS": "scd2", "HR.PEOPLE": "soft_delete", "XSHOP.T": "soft_delete"}
    assert modes_of(parsed())(TableId("D", "SHOP", "ORDERS")).name == "mirror"


def test_an_entry_is_for_the_tables_of_all_databases_or_of_one() -> None:
    entries = {"minercdc.lake.table.modes": "STOCK[.]SHOP[.]ITEM:scd2, SHOP[.]ITEM:append"}
    items = [TableId(database, "SHOP", "ITEM") for database in ("SALES", "STOCK")]
    assert [modes_of(parse_properties(SEVERAL | entries))(item).name for item in items] == ["append", "scd2"]
    assert [modes_of(parse_properties(PROPERTIES | entries))(item).name for item in items] == ["append", "append"]


@pytest.mark.parametrize(
    ("property_name", "value", "message"),
    [
        ("table_modes", "SHOP.ORDERS", r"minercdc.lake.table.modes: 'SHOP.ORDERS' is not of the form PATTERN:MODE"),
        ("table_modes", ":scd2", r"':scd2' is not of the form PATTERN:MODE"),
        ("table_modes", "SHOP.*:history", r"'history' is not one of mirror, soft_delete, append, scd2"),
        ("table_modes", "SHOP.(:scd2", r"minercdc.lake.table.modes: .*not a regular expression"),
        ("mode", "history", r"minercdc.lake.mode: .*mirror"),
    ],
)
def test_a_mode_that_is_none_is_refused(property_name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed(**{property_name: value})


def test_rows_that_all_go_within_a_merge_go_in_a_step_of_their_own() -> None:
    found = history(created=[1, 30], truncated=[20, 60], reads=[10], snapshots=[40])
    arrivals = [arrival(2, 11, 45, truncated=20, snapshot=40)]
    assert clearings(found, arrivals, 50, truncate=True) == ([1, 30, 20, 20], [10, 40])
    assert clearings(found, arrivals, 50, truncate=False) == ([1, 30], [10, 40])
    steps = stages(found, arrivals, Applied(10, 1), Applied(50, 2), apart=[10, 11, 20, 30, 40, 51, 60])
    assert [step.scn for step in steps] == [19, 29, 39, 50], "the rows of 11 are in the step from 10 on"


def test_what_goes_at_the_begin_of_a_step_has_the_time_of_its_ddl() -> None:
    found = history(truncated=[20], reads=[5, 30])
    found.times = {20: 7}
    before = Applied(10, 1)
    assert pending(found, [], Applied(19, 1), Applied(29, 2), truncate=True).clear(found) == Clear(20, 7, read=False)
    assert pending(found, [], Applied(29, 2), Applied(50, 2), truncate=True).clear(found) == Clear(30, None, read=True)
    assert pending(found, [], before, Applied(19, 1), truncate=True).clear(found) is None
    assert Clear(20, 7, read=False).time() == "timestamp_micros(7L)"


def test_a_step_says_what_may_be_in_the_table_already() -> None:
    late = replace(arrival(2, 5, 9), read=True, vanished=True)
    work = pending(history(), [late], Applied(10, 1), Applied(50, 2), truncate=True)
    assert (work.late, work.reads, work.vanished) == (True, True, True)
    work = pending(history(), [arrival(2, 11, 45)], Applied(10, 1), Applied(50, 2), truncate=True)
    assert (work.late, work.reads, work.vanished) == (False, False, False)


def test_rows_are_brought_together_by_the_key_of_their_time(config: ConnectorConfig) -> None:
    columns = (Column("ID", "NUMBER", 9, 0), Column("CODE", "VARCHAR2", 9))
    fields = tuple(Field(f"{column.name}@1", column) for column in columns)

    def version(since: int, *key: int) -> TableVersion:
        return TableVersion(since, TableSchema(TABLE, columns, key=key), fields)

    table = TableHistory(TABLE, "p.S.T", [version(1, 0), version(10, 0), version(20, 1), version(30, 1), version(40)])
    decoder = RowDecoder(config)
    assert rekeyings(decoder, table) == [20, 40]
    assert [key_since(decoder, table, scn) for scn in (5, 15, 20, 35, 45)] == [0, 0, 20, 20, 40]


def test_versions_of_before_a_column_became_the_key_have_their_own() -> None:
    columns = (Column("ID", "NUMBER", 9, 0), Column("CODE", "VARCHAR2", 9))
    fields = tuple(Field(f"{column.name}@1", column) for column in columns)
    versions = [
        TableVersion(since, TableSchema(TABLE, columns[:count], key=(0,)), fields[:count])
        for since, count in ((1, 1), (10, 2))
    ]
    config = parse_properties(PROPERTIES | {"message.key.columns": f"{TABLE.schema}.{TABLE.table}:CODE"})
    assert rekeyings(RowDecoder(config), TableHistory(TABLE, "p.S.T", versions)) == [10]


def test_only_a_snapshot_says_which_rows_went_by_not_having_them() -> None:
    target, read = [TableColumn("ID", "INT", "ID@1")], Clear(40, 7, read=True)
    for clauses in (soft_clauses, version_clauses):
        assert "NOT MATCHED BY SOURCE" not in clauses(target, None)
        assert "WHEN NOT MATCHED BY SOURCE" in clauses(target, read)
    assert "commit_scn < 40 " in soft_clauses(target, read)
    assert "timestamp_micros(7L)" in version_clauses(target, read)


def test_a_deleted_row_of_another_key_is_no_row_of_this_one() -> None:
    assert soft_matches(20) == "(NOT t.__cdc.deleted OR t.__cdc.commit_scn > 20 OR c.commit_scn <= 20)"
    assert matches([TableColumn("A b", "INT", "ID@1")], ["ID@1"]) == "t.`A b` <=> c.k0"
    assert matches([TableColumn("A b", "INT", "ID@1")], []) == "t.__cdc.row_id = c.row_id"


def test_modes_that_keep_what_is_deleted() -> None:
    assert {name for name, mode in MODES.items() if mode.keeps} == {"soft_delete", "append", "scd2"}
    assert {name: mode.takes for name, mode in MODES.items()} == {
        "mirror": "row",
        "soft_delete": "row",
        "append": "change",
        "scd2": "commit",
    }


@pytest.mark.parametrize("mode", ["soft_delete", "append", "scd2"])
def test_a_commit_that_does_half_of_a_step_says_nothing_of_how_far_the_table_is(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill its version would be read as that of the SCN before the TRUNCATE."""
    for name in ("versions_of", "known_versions"):
        monkeypatch.setattr(modes, name, MagicMock())
    lake, goal = MagicMock(), Applied(30, 2)
    lake.is_empty.return_value = False
    step = MergeStep(
        [TableColumn("ID", "INT", "ID@1")], ["ID@1"], 0, Clear(20, 7, read=False), True, False, Applied(10, 1), goal
    )
    (found,) = [one for one in MODES.values() if one.name == mode]
    found.merge(lake, MagicMock(), step)
    halves = [*lake.update.call_args_list, *lake.append.call_args_list]
    assert [call.args[-1] for call in halves] == [None]
    assert [call.args[-1] for call in lake.merge.call_args_list] == [goal]
