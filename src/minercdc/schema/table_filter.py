"""Decides which tables are captured, by include and exclude lists of patterns, anchored, without regard to case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import TableId

# Oracle's own schemas; never captured unless named in `schema.include.list`.
SYSTEM_SCHEMAS: Final = frozenset(
    """APPQOSSYS AUDSYS CTXSYS DVSYS DBSFWUSER DBSNMP GGSHAREDCAP GSMADMIN_INTERNAL LBACSYS MDSYS OJVMSYS OLAPSYS ORDDATA
    ORDSYS OUTLN SYS SYSTEM VECSYS WMSYS XDB""".split()  # noqa: SIM905
)
# Materialized view logs, compression advisor, recycle bin, spatial index (by its hexadecimal number), overflow and text index tables.
_INTERNAL_TABLE = re.compile(r"MLOG\$_|RUPD\$_|CMP[34]\$|BIN\$|MD(?:R[TS]|XT)_[0-9A-F]+\$|SYS_IOT_OVER_\d|DR\$")


@dataclass(frozen=True)
class TableFilter:
    """Decides by a table's name whether the table is captured. Patterns of tables are matched against `SCHEMA.TABLE`.

    Where an include list is not empty, the exclude list of its kind has no effect. Schemas in SYSTEM_SCHEMAS pass by
    `schema_include` only; materialized view logs, the recycle bin and the like never pass.

    :param also: (schema, table) that pass whatever the rest says: the signal table, which has to be mined.
    :param database: patterns of tables are matched against `DATABASE.SCHEMA.TABLE`, too; '' for `SCHEMA.TABLE` only.
    :param never: (schema, table) that do not pass unless `also` has them: tables that the connector itself writes to; schema `*`
        for all.
    """

    schema_include: Sequence[str] = ()
    schema_exclude: Sequence[str] = ()
    table_include: Sequence[str] = ()
    table_exclude: Sequence[str] = ()
    also: frozenset[tuple[str, str]] = frozenset()
    never: frozenset[tuple[str, str]] = frozenset()
    database: str = ""
    _cache: dict[tuple[str, str], bool] = field(default_factory=dict, compare=False, repr=False)

    def includes(self, schema: str, table: str) -> bool:
        """Whether `schema`.`table`, spelled as in the dictionary, passes; cached, since it is called for every row.

        :raises ValueError: a pattern cannot be compiled (`configured_pattern`).
        :raises ConfigError: a pattern took too long.
        """
        try:
            return self._cache[schema, table]
        except KeyError:
            answer = self._cache[schema, table] = self._decide(schema, table)
            return answer

    def _decide(self, schema: str, table: str) -> bool:
        if (schema, table) in self.also:
            return True
        if _INTERNAL_TABLE.match(table) or not self.never.isdisjoint(((schema, table), ("*", table))):
            return False
        if self.schema_include:
            if not _matches(self.schema_include, schema):
                return False
        elif schema.upper() in SYSTEM_SCHEMAS or _matches(self.schema_exclude, schema):
            return False
        if self.table_include:
            return any(self.matches(pattern, f"{schema}.{table}") for pattern in self.table_include)
        return not any(self.matches(pattern, f"{schema}.{table}") for pattern in self.table_exclude)

    def matches(self, pattern: str, name: str) -> bool:
        """Whether a pattern of tables matches a name, `SCHEMA.TABLE`. Raises as `includes`."""
        compiled = configured_pattern(pattern)
        return compiled.matches(name) or (bool(self.database) and compiled.matches(f"{self.database}.{name}"))


def _matches(patterns: Iterable[str], name: str) -> bool:
    return any(configured_pattern(pattern).matches(name) for pattern in patterns)


def names(pattern: str, table: TableId) -> bool:
    """Whether a pattern matches all of `DATABASE.SCHEMA.TABLE` or `SCHEMA.TABLE`, without regard to case. A pattern that
    equals one of them matches, too: a plain name need not be escaped (`C##U.T$1`).

    :raises ValueError: it cannot be compiled (`configured_pattern`).
    :raises ConfigError: it took too long.
    """
    full, short = f"{table.database}.{table}", str(table)
    if pattern.upper() in (full.upper(), short.upper()):
        return True
    compiled = configured_pattern(pattern)
    return compiled.matches(full) or compiled.matches(short)
