"""`PARTITION (name)` and `PARTITION FOR (values)` after a table's name, and those of SUBPARTITION."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.partitioning import ROW_BITS, TablePartition
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.convert import Conversion
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.runtime import evaluate
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.storage.store import VERSION_BITS
from minercdc_sandbox.tables import Table

Wanted: TypeAlias = "Callable[[Run], TablePartition]"


def wanted_partition(env: Environment, table: Table, said: ast.Partition) -> Wanted:
    """The partition that PARTITION names, or the subpartition that SUBPARTITION does, as a function that evaluates FOR in a run;
    it makes none.

    Raises ORA-14501 for a table without partitions, ORA-02149 for an unknown name, as `named_subpartition`, ORA-14019 for another number of values, and as
    `Expressions.value` and `storer`. The function raises ORA-02149 for values that no partition holds, and as `evaluate` and the
    function of `storer`.
    """
    by = table.partitioning
    if by is None:
        raise OraError(14501, "object is not partitioned", said.at)
    if said.name is not None:
        found = by.named_subpartition(said.name, said.at)[1] if said.is_sub else by.named(said.name, said.at)
        return lambda run: found
    columns = by.key_columns if said.is_sub else by.columns
    if len(said.values) != len(columns):
        raise OraError(
            14019, "partition bound element must be one of: string, datetime or interval literal, number, or MAXVALUE"
        )
    how = Conversion(env.nls, date.today(), env.lobs)
    x = Expressions(env)
    parts = []
    for at, expr in zip(table.positions(columns), said.values, strict=True):
        typed = x.value(expr, None)
        parts.append((typed.sql, storer(typed.type, table.columns[at], table.columns[at].name, how)))

    def holding(run: Run) -> TablePartition:
        key = tuple(fit(evaluate(sql, x.parameters, run)) for sql, fit in parts)
        partition = by.holding(key) if said.is_sub else by.partition_of(key)
        if partition is None:
            raise OraError(2149, "Specified partition does not exist", said.at)
        return partition

    return holding


def in_partition(x: Expressions, table: Table, said: ast.Partition, vid: str) -> str:
    """SQL of the condition that the version with id `vid` lies in the partition. Raises as `wanted_partition`."""
    wanted = wanted_partition(x.env, table, said)
    if table.is_composite and not said.is_sub:
        numbers = x.parameter(("partition", id(said)), lambda run: "".join(f",{s.number}," for s in wanted(run).segments()))
        return f"instr({numbers},','||({vid}>>{ROW_BITS + VERSION_BITS})||',')>0"
    number = x.parameter(("partition", id(said)), lambda run: wanted(run).number)
    bits = ROW_BITS + VERSION_BITS
    return f"{vid}>=({number}<<{bits}) and {vid}<(({number}+1)<<{bits})"
