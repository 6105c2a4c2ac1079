"""The clauses of ALTER TABLE, by the words that they begin with, and what each changes of what is known of a table.

The grammar is that of the SQL Language Reference, ALTER TABLE, up to 23ai. Words are matched at the start of a clause; the longest
match counts. No clause is recognized by its first word alone where that may be the name of a column: nearly all words may
(V$RESERVED_WORDS), so `parser` looks at what follows first.

    COLUMNS     columns are added, changed, dropped or renamed: the clause is read further
    KEY         a constraint: the clause is read further
    ORDER       columns that Oracle makes itself come or go in the stored rows
    GONE        rows go, or come, without redo of them
    PARTS       partitions come or go, rows stay; they may get other ROWIDs
    MOVED       rows get other ROWIDs
    TABLE       the table gets another name
    UNKNOWN     a change that the text does not say
    NOTHING     of all that, nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Flag, auto
from typing import Final


class Effect(Flag):
    """What a clause changes; NOTHING is no flag."""

    NOTHING = 0
    COLUMNS = auto()
    KEY = auto()
    ORDER = auto()
    GONE = auto()
    PARTS = auto()
    MOVED = auto()
    TABLE = auto()
    UNKNOWN = auto()


N, COLUMNS, KEY, ORDER, GONE, PARTS, MOVED = (
    *(Effect.NOTHING, Effect.COLUMNS, Effect.KEY, Effect.ORDER),
    *(Effect.GONE, Effect.PARTS, Effect.MOVED),
)
# One partition or several, with or without S.
_PARTITIONS: Final = ("PARTITION", "PARTITIONS", "SUBPARTITION", "SUBPARTITIONS")

_TABLE: Final[dict[str, Effect]] = {
    # column_clauses, constraint_clauses
    "ADD": COLUMNS | KEY,
    "ADD PERIOD FOR": Effect.UNKNOWN,
    "ADD SUPPLEMENTAL LOG": N,
    "MODIFY": COLUMNS | KEY,
    "MODIFY CONSTRAINT": KEY,
    "MODIFY PRIMARY KEY": KEY,
    "MODIFY UNIQUE": KEY,
    "MODIFY NESTED TABLE": N,
    "MODIFY LOB": N,
    "MODIFY VARRAY": N,
    "MODIFY OPAQUE TYPE": N,
    "MODIFY COLUMN": N,  # [NOT] SUBSTITUTABLE
    "DROP COLUMN": COLUMNS,
    "DROP COLUMNS CONTINUE": COLUMNS,
    "DROP UNUSED COLUMN": ORDER,
    "DROP UNUSED COLUMNS": ORDER,
    "DROP (": COLUMNS,
    "DROP PERIOD FOR": N,
    "DROP ( PERIOD FOR": N,
    "DROP SUPPLEMENTAL LOG": N,
    "DROP CONSTRAINT": KEY,
    "DROP PRIMARY KEY": KEY,
    "DROP UNIQUE": KEY,
    "SET UNUSED": COLUMNS,
    "RENAME COLUMN": COLUMNS,
    "RENAME CONSTRAINT": KEY,
    "RENAME LOB": N,
    "RENAME TO": Effect.TABLE,
    # alter_table_properties
    **dict.fromkeys(
        """PCTFREE PCTUSED INITRANS MAXTRANS STORAGE TABLESPACE LOGGING NOLOGGING FILESYSTEM_LIKE_LOGGING COMPRESS NOCOMPRESS INMEMORY
        ILM ALLOCATE DEALLOCATE CACHE NOCACHE RESULT_CACHE UPGRADE MINIMIZE NOMINIMIZE PARALLEL NOPARALLEL MONITORING NOMONITORING
        READ REKEY ANNOTATIONS INDEXING OVERFLOW PCTTHRESHOLD INCLUDING KEY MAPPING NOMAPPING FLASHBACK MEMOPTIMIZE BUFFER_POOL CHUNK
        SUPPLEMENTAL DEFAULT REJECT LOCATION ACCESS PROJECT STORE ALLOW DISALLOW XMLSCHEMA""".split(),  # noqa: SIM905
        N,
    ),
    "ROW STORE COMPRESS": N,
    "COLUMN STORE": N,
    "NO INMEMORY": N,
    "NO FLASHBACK ARCHIVE": N,
    "NO MEMOPTIMIZE": N,
    "NO PARALLEL": N,
    "NO COLUMN STORE": N,
    "NO DROP": N,  # of immutable and blockchain tables, as NO DELETE
    "NO DELETE": N,
    "NO DUPLICATE": N,
    "NOT FOR STAGING": N,
    "FOR STAGING": N,
    "SET XMLSCHEMA": N,
    "ROW ARCHIVAL": ORDER,
    "NO ROW ARCHIVAL": ORDER,
    "SHRINK SPACE": MOVED,
    "SHRINK SPACE CHECK": N,
    "REFRESH INTERVAL": N,  # of a duplicated table
    "COALESCE": N,  # of an index-organized table
    "ADD OVERFLOW": N,
    "ADD CLUSTERING": N,
    "MODIFY CLUSTERING": N,
    "DROP CLUSTERING": N,
    "ADD EXTERNAL PARTITION": N,
    "MODIFY EXTERNAL PARTITION": N,
    "DROP EXTERNAL PARTITION": N,
    # move_table_clause, modify_to_partitioned
    "MOVE": MOVED,
    "MODIFY PARTITION BY": PARTS | MOVED,
    "MODIFY NONPARTITIONED": PARTS | MOVED,
    # alter_table_partitioning
    "MODIFY DEFAULT ATTRIBUTES": N,
    "SET INTERVAL": N,
    "SET STORE IN": N,
    "SET PARTITIONING": N,
    "SET SUBPARTITION TEMPLATE": N,
    **{f"MODIFY {part}": PARTS for part in _PARTITIONS},
    **{f"MOVE {part}": MOVED for part in _PARTITIONS},
    **{f"ADD {part}": PARTS | MOVED for part in _PARTITIONS},  # by hash: rows of another one move
    **{f"COALESCE {part}": PARTS | MOVED for part in _PARTITIONS},
    **{f"DROP {part}": PARTS | GONE for part in _PARTITIONS},
    **{f"RENAME {part}": N for part in _PARTITIONS},
    **{f"TRUNCATE {part}": GONE for part in _PARTITIONS},
    **{f"SPLIT {part}": PARTS | MOVED for part in _PARTITIONS},
    **{f"MERGE {part}": PARTS | MOVED for part in _PARTITIONS},
    **{f"EXCHANGE {part}": PARTS | GONE for part in _PARTITIONS},
    # enable_disable_clause, and what stands beside it
    **{
        f"{state}{how} {what}": KEY
        for state in ("ENABLE", "DISABLE")
        for how in ("", " VALIDATE", " NOVALIDATE")
        for what in ("CONSTRAINT", "PRIMARY KEY", "UNIQUE")
    },
    "ENABLE": N,  # ROW MOVEMENT, TABLE LOCK, ALL TRIGGERS, QUERY REWRITE, LOGICAL REPLICATION ..
    "DISABLE": N,
}
CLAUSES: Final[dict[tuple[str, ...], Effect]] = {tuple(words.split()): effect for words, effect in _TABLE.items()}
"""Every clause, by its first words."""

_LONGEST: Final = max(map(len, CLAUSES))


def clause_of(words: Sequence[str]) -> tuple[tuple[str, ...], Effect] | None:
    """The clause that begins with these words, and what it changes: the longest of CLAUSES; None for text that is not Oracle's.

    :param words: the next words and signs of the statement, `` for a quoted name, a number or a text.
    """
    for length in range(min(_LONGEST, len(words)), 0, -1):
        begin = tuple(words[:length])
        if begin in CLAUSES:
            return begin, CLAUSES[begin]
    return None


def of_parts(begin: tuple[str, ...], effect: Effect, words: Sequence[str]) -> Effect:
    """What a clause of partitions, or MOVE, changes, by all its words. INCLUDING ROWS WHERE lets the other rows go without redo of
    them. A partition that is added moves rows where it has no VALUES, since it is one by hash then.

    :param begin, effect: as of `clause_of`.
    """
    if any(words[at : at + 2] == ["INCLUDING", "ROWS"] for at in range(len(words))):
        effect |= Effect.GONE
    if begin[0] == "ADD" and "VALUES" in words:
        effect &= ~Effect.MOVED
    subpartitions = any(
        words[at : at + 2] in (["ADD", "SUBPARTITION"], ["COALESCE", "SUBPARTITION"]) for at in range(len(words))
    )
    shrinks = any(words[at : at + 2] == ["SHRINK", "SPACE"] for at in range(len(words)))
    if begin[0] == "MODIFY" and (shrinks or (subpartitions and "VALUES" not in words)):
        effect |= Effect.MOVED
    return effect
