"""The pending records of several small tables, read from the change log and reduced to the last one of each row in one query.

A table of few rows costs its query's planning, not its rows: Delta is asked which files may hold them, and two aggregates are planned.
Tables that are merged in one round share that.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from minercdc.lake.merge.latest import FEW_ROWS, last_records
from minercdc.lake.merge.pending import Limits, pending_condition
from minercdc.lake.spark.own_sessions import compile_code
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.change_log import ChangeLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

FEWEST_TABLES = 4  # fewer read for themselves
MOST_ROWS = 200_000  # their values are kept in memory, or on disk where that is short
_TASKS = 2  # of the query; one table's rows are in one of them
_ROWS_IN_BATCH = "spark.sql.inMemoryColumnarStorage.batchSize"


class JointTable(NamedTuple):
    """What is read of one table.

    :param has_key: the record key identifies its rows; else the ROWID does.
    :param rows: records within the limits, at most.
    """

    limits: Limits
    has_key: bool
    rows: int


class JointRead:
    """The last records of several tables.

    :param log: the change log, in a session of this alone, whose settings it changes. No two threads are in `of` at once.
    """

    def __init__(self, log: ChangeLog) -> None:
        self._log, self._session = log, log.spark
        # A table's rows lie together, and batches without them are passed over.
        self._session.conf.set(_ROWS_IN_BATCH, "1000")
        self._view = f"minercdc_joint_read_{uuid.uuid4().hex}"  # seen by all sessions, and other lakes, of the application
        self._limits: dict[str, Limits] = {}

    @contextmanager
    def of(self, tables: Sequence[JointTable]) -> Iterator[None]:
        """A context in which `records` returns the records of as many of these tables, the smallest first, as have no more than
        `MOST_ROWS` rows together. Where these are fewer than `FEWEST_TABLES`, or cannot be read, it returns None for all."""
        chosen, rows = [], 0
        for table in sorted(tables, key=lambda table: table.rows):
            if (rows := rows + table.rows) <= MOST_ROWS:
                chosen.append(table)
        if len(chosen) < FEWEST_TABLES:
            yield
            return
        compile_code(self._session, wanted=sum(table.rows for table in chosen) >= FEW_ROWS)
        try:
            found = self._last_records(chosen).persist()
            found.createOrReplaceGlobalTempView(self._view)
        except Exception:  # each table's own merge says what is wrong
            log.debug("the records of %d tables cannot be read together", len(chosen), exc_info=True)
            yield
            return
        self._limits = {table.limits.topic: table.limits for table in chosen}
        try:
            yield
        finally:
            self._limits = {}
            self._session.catalog.dropGlobalTempView(self._view)
            found.unpersist()

    def records(self, session: SparkSession, limits: Limits) -> DataFrame | None:
        """The last record of each row within these limits, as `latest.latest_records` has them; None when not read. Within
        the context of `of` only.

        :param session: in which the result is used.
        """
        if self._limits.get(limits.topic) != limits:
            return None
        return session.table(f"global_temp.{self._view}").where(f"topic = {literal(limits.topic)}").coalesce(1)

    def _last_records(self, tables: Sequence[JointTable]) -> DataFrame:
        from pyspark.sql.functions import broadcast, expr

        listed = ", ".join(
            f"({literal(limits.topic)}, {', '.join(f'{number}L' for number in limits[1:])}, {str(has_key).lower()})"
            for limits, has_key, _ in tables
        )
        names = [f"of_{name}" for name in Limits._fields]
        wanted = self._session.sql(f"SELECT * FROM VALUES {listed} AS tables({', '.join(names)}, has_key)")
        batch, scn = (min(getattr(table.limits, name) for table in tables) for name in ("applied_batch", "applied_scn"))
        newer = self._log.rows().where(f"batch > {batch} OR commit_scn > {scn}")  # Delta leaves out files without such
        records = newer.join(broadcast(wanted), expr(pending_condition(*names)))
        identified = records.selectExpr("*", "if(has_key, key, row_id) AS identity").repartition(_TASKS, "topic")
        return last_records(identified, ["topic", "identity"]).sortWithinPartitions("topic")
