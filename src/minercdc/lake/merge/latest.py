"""The last change of each row among many, and what it lacks from earlier changes or from the lake.

Changes are ordered by commit SCN, then by number within the transaction, then by offset. Where several rows had one key, the deletes
of a commit SCN come before its other changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minercdc.lake.read.decode import RECORD
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.columns import CDC, TableColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What orders the changes of one key. The offset decides between changes of one statement only.
_ORDER = "commit_scn, seq, offset"
_STEPS = f"{_ORDER}, op <> 'd'"  # of the changes of one row: a change of its key is a delete, then a create
_EVENT = "PARTITION BY commit_scn, seq, row_id"  # of a change of the key: a delete and a create of the same number and ROWID
_ALIVE_ORDER = "struct(commit_scn, op <> 'd', seq, offset)"  # of the last changes of different rows with one key
_PLACE = ("batch", "partition", "offset")  # of a record in the change log: one that was read again is there twice
FEW_ROWS = 10_000  # fewer are read sooner by one task than by several, and by the interpreter than code is compiled for them
_MOST_PLACES = 1_000_000  # some 40 bytes each, in the driver and in each executor


def latest_records(rows: DataFrame, by: Sequence[str], *, unplaced: bool, count: int) -> DataFrame:
    """Of records of the change log, the last one per `by`, unparsed: `decode.RECORD`, `key` and `value` at least.

    :param by: names of the columns that identify a row.
    :param unplaced: ROWIDs may be missing.
    :param count: of `rows`, at most.
    """
    whole = [name for name in (*RECORD, "key", "value") if name not in by]
    if count < FEW_ROWS:
        return _last(rows.coalesce(1), by, whole, unplaced=unplaced, several_tasks=False)
    if count > _MOST_PLACES:
        return _last(rows, by, whole, unplaced=unplaced)
    from pyspark.sql.functions import broadcast

    # Values are wide: only their places are sorted, and sent to where the values are.
    places = _last(rows, by, [*_PLACE, *(name for name in RECORD if name not in (*_PLACE, *by))], unplaced=unplaced)
    return rows.join(broadcast(places.select(*_PLACE)), list(_PLACE), "left_semi")


def last_records(records: DataFrame, by: Sequence[str]) -> DataFrame:
    """As `latest_records`, of records that all have a ROWID, and are partitioned by a part of `by` already."""
    return _last(
        records, by, [name for name in (*RECORD, "key", "value") if name not in by], unplaced=False, several_tasks=False
    )


def latest_rows(decoded: DataFrame, by: Sequence[str], *, unplaced: bool) -> DataFrame:
    """Of decoded rows, the last one per `by`, with all their columns; for the parameters see `latest_records`."""
    return _last(decoded, by, [name for name in decoded.columns if name not in by], unplaced=unplaced)


def _home(by: Sequence[str], arrives: str = "false") -> str:
    """SQL of what identifies a row over its changes: its ROWID; the key as JSON where no change has one.

    LogMiner does not know the ROWID of an INSERT with large values. The row's next change has it, under the same key: also the
    delete that is part of a change of the key.

    :param arrives: SQL: the row came from another key, so that it is not the one that was inserted under this key.
    """
    keys = ", ".join(map(quoted, by))
    in_order = f"PARTITION BY {keys} ORDER BY {_ORDER} ROWS BETWEEN"
    following = f"first(if({arrives}, NULL, row_id), true) OVER ({in_order} CURRENT ROW AND UNBOUNDED FOLLOWING)"
    preceding = f"last(row_id, true) OVER ({in_order} UNBOUNDED PRECEDING AND CURRENT ROW)"
    return f"coalesce(row_id, {following}, {preceding}, to_json(struct({keys})))"


def _last(
    rows: DataFrame, by: Sequence[str], kept: Sequence[str], *, unplaced: bool, several_tasks: bool = True
) -> DataFrame:
    """The last one per `by`. At one commit SCN, a delete of another row with that key does not count.

    One UPDATE may shift keys (1 to 2, 2 to 3): then key 2 is deleted, as that of the second row, after it was given to the first.
    """
    from pyspark.sql.functions import expr

    together = f"struct({', '.join(map(quoted, kept))})"
    names = ", ".join(map(quoted, by))
    # Sorted for the aggregates: by number first, since keys have long common prefixes.
    home = _home(by) if unplaced else "coalesce(row_id, '')"
    homes = [] if "row_id" in by else [f"{home} AS home"]
    rows = rows.selectExpr("*", f"xxhash64({names}) AS hash", *homes)
    if several_tasks:
        rows = rows.repartition("hash")
    order = f"struct({_ORDER})"
    if homes:
        last = expr(f"max_by({together}, {order}) AS last")
        rows = rows.groupBy("hash", *by, "home").agg(last).selectExpr("hash", *map(quoted, by), "last.*")
        order = _ALIVE_ORDER
    last = expr(f"max_by({together}, {order}) AS last")
    return rows.groupBy("hash", *by).agg(last).selectExpr(*map(quoted, by), "last.*")


def complete_rows(
    decoded: DataFrame,
    present: DataFrame | None,
    target: Sequence[TableColumn],
    key: Sequence[str],
    by: Sequence[str],
    *,
    every: bool = False,
    before: bool = False,
) -> DataFrame:
    """Of decoded rows with missing values (`m0`, ..), the last one per `by`, without `m0`, .., with what is missing taken from

    1. an earlier change of the same row among them, back to where it was inserted or deleted;
    2. the row in the lake; after a change of its key, the row with the key that it had before the first one.

    :param target: columns of the lake table.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    :param present: the source's rows in the lake; None when there are none.
    :param every: all rows, not only the last ones.
    :param before: deletes have the values of their row.
    """
    rows = _with_earlier_values(
        _with_deletes_left_out(decoded, target, key) if key else decoded, len(target), by, before=before
    )
    if not every:
        keys = ", ".join(by)
        latest = f"row_number() OVER (PARTITION BY {keys}, home ORDER BY commit_scn DESC, seq DESC, offset DESC)"
        rows = rows.selectExpr("*", f"{latest} AS row_rank").where("row_rank = 1")
        alive = f"row_number() OVER (PARTITION BY {keys} ORDER BY {_ALIVE_ORDER} DESC)"
        rows = rows.selectExpr("*", f"{alive} AS rank").where("rank = 1")
    kept = [*RECORD, *(name for name in by if name not in RECORD)]
    if present is None:
        return rows.selectExpr(*kept, *(f"s{i}.c{i} AS c{i}" for i in range(len(target))))
    return _from_lake(rows, present, target, key, kept)


def _with_earlier_values(rows: DataFrame, columns: int, by: Sequence[str], *, before: bool) -> DataFrame:
    """The rows with what earlier changes of the same row say, back to where it was inserted or deleted.

    s0, s1, ..   struct of the last known value of each column, null where none is known
    moved, was   whether the row's key changed, and what it was before the first change
    home, ended  identify the row, and how often it was deleted before
    """
    rows = rows.selectExpr(
        "*",
        f"op = 'c' AND bool_or(op = 'd') OVER ({_EVENT}) AS moves",
        f"max(if(op = 'd', struct({', '.join(by)}), NULL)) OVER ({_EVENT}) AS old",
        f"op = 'd' AND NOT bool_or(op = 'c') OVER ({_EVENT}) AS ends",
    ).selectExpr("*", f"{_home(by, 'moves')} AS home")
    # A delete with values is part of what it ends.
    until = "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING" if before else "UNBOUNDED PRECEDING"
    ended = f"sum(if(ends, 1, 0)) OVER (PARTITION BY home ORDER BY {_STEPS} ROWS {until})"
    rows = rows.selectExpr("*", f"coalesce({ended}, 0) AS ended")
    since_end = f"PARTITION BY home, ended ORDER BY {_STEPS} ROWS UNBOUNDED PRECEDING"
    lacks = "m{}" if before else "m{} OR op = 'd'"
    values = (f"last(if({lacks.format(i)}, NULL, struct(c{i})), true) OVER ({since_end}) AS s{i}" for i in range(columns))
    moved = f"bool_or(moves) OVER ({since_end}) AS moved"
    return rows.selectExpr("*", moved, f"first(if(moves, old, NULL), true) OVER ({since_end}) AS was", *values)


def _with_deletes_left_out(decoded: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
    """The decoded rows, and before each change of a key whose delete the connector left out, since another row has that key now,
    the delete; all without `old`.

    :param decoded: with `old`.
    """
    alone = f"op = 'c' AND old IS NOT NULL AND NOT bool_or(op = 'd') OVER ({_EVENT})"
    rows = decoded.selectExpr("*", f"{alone} AS alone")
    rows = rows.selectExpr("*", "explode(if(alone, array(true, false), array(false))) AS leaves")
    part_of = {part: f"k{i}" for i, part in enumerate(key)}
    columns = ["if(leaves, 'd', op) AS op", *(name for name in RECORD if name != "op")]
    columns += [f"if(leaves, old.k{i}, k{i}) AS k{i}" for i in range(len(key))]
    for i, column in enumerate(target):
        part = part_of.get(column.id)
        columns.append(f"if(leaves, {f'old.{part}' if part else 'NULL'}, c{i}) AS c{i}")
        columns.append(f"m{i} AS m{i}" if part else f"leaves OR m{i} AS m{i}")
    return rows.selectExpr(*columns)


def _from_lake(
    rows: DataFrame, present: DataFrame, target: Sequence[TableColumn], key: Sequence[str], kept: Sequence[str]
) -> DataFrame:
    from pyspark.sql.functions import expr

    names = {column.id: column.name for column in target}
    values = [f"{quoted(column.name)} AS {{}}{i}" for i, column in enumerate(target)]
    same = present.selectExpr(
        f"{CDC}.row_id AS p_row_id",
        *(f"{quoted(names[part])} AS p_k{i}" for i, part in enumerate(key)),
        *(value.format("p") for value in values),
    )
    on = " AND ".join(f"p_k{i} <=> k{i}" for i in range(len(key))) or "p_row_id = row_id"
    rows = rows.join(same, expr(f"ended = 0 AND NOT moved AND {on}"), "left")
    old = present.selectExpr(
        *(f"{quoted(names[part])} AS o_k{i}" for i, part in enumerate(key)), *(value.format("o") for value in values)
    )
    was = " AND ".join(f"o_k{i} <=> was.k{i}" for i in range(len(key))) or "false"  # a row without key never changes it
    rows = rows.join(old, expr(f"ended = 0 AND moved AND {was}"), "left")
    return rows.selectExpr(
        *kept,
        *(
            f"CASE WHEN s{i} IS NOT NULL THEN s{i}.c{i} WHEN moved THEN o{i} ELSE p{i} END AS c{i}"
            for i in range(len(target))
        ),
    )
