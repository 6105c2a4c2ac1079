"""Ends a query that would decode a record with an older version of its table than that of its SCN.

The plan of a query knows the versions of its start. Whoever has records, and then reads the schema history to its end, knows
their versions: so a task compares the SCNs of its records with the history as it is then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # Spark reads the types of `check` at run time
import pyarrow.compute as pc  # type: ignore[import-untyped]

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.source.segment_history import for_tasks, history_of
from minercdc.lake.table.history import TableHistories, TableHistory

if TYPE_CHECKING:
    from pyspark.sql import Column

_histories: dict[str, TableHistories] = {}  # of a Python worker, by the topic's name and cluster, or the file


def version_is_known(scn: Column, table: TableHistory, config: ConnectorConfig) -> Column:
    """A column that is true for every record; the query fails with a LakeError where one has a version that `table` lacks.

    Executors read the schema history as it is then; errors of that make the query fail, too.

    :param scn: of the change.
    """
    sent = for_tasks(config)
    name, known = table.name, len(table.versions)

    def check(scns: pa.Array) -> pa.Array:
        refuse_newer(_history(sent), name, known, pc.max(scns).as_py() or 0)
        return pa.array([True] * len(scns), pa.bool_())

    return _by_arrow(check)(scn)


def _by_arrow(check: Callable[[pa.Array], pa.Array]) -> Callable[[Column], Column]:
    """A function of columns that calls `check` with Arrow arrays. Raises LakeError where a Spark before 4.1 has no pandas for that."""
    from pyspark.sql import functions
    from pyspark.sql.types import BooleanType

    boolean = (
        BooleanType()
    )  # not its name: Spark Connect asks its server what that means, which a declarative pipeline does not let it
    if hasattr(functions, "arrow_udf"):
        direct: Callable[[Column], Column] = functions.arrow_udf(check, boolean)
        return direct
    try:
        import pandas
    except ImportError:
        raise LakeError("Spark before 4.1 needs pandas to read changes", hint="pip install 'pandas>=2'") from None

    def by_pandas(scns: Any) -> Any:
        return check(pa.Array.from_pandas(scns)).to_pandas()

    # By these Spark knows what kind of function it is; those above are text, which names no pandas here.
    by_pandas.__annotations__ = {"scns": pandas.Series, "return": pandas.Series}
    indirect: Callable[[Column], Column] = functions.pandas_udf(by_pandas, boolean)
    return indirect


def _history(config: ConnectorConfig) -> TableHistories:
    """The history of this worker, read to its present end; kept for the worker's next calls."""
    key = f"{config.history.file} {config.kafka.bootstrap_servers} {config.identity.name} {config.identity.topic_prefix}"
    if key not in _histories:
        _histories[key] = history_of(config)
    _histories[key].refresh()
    return _histories[key]


def refuse_newer(history: TableHistories, name: str, known: int, scn: int) -> None:
    """Raise LakeError when a record of an SCN has a version after the first `known` ones of table `name`."""
    table = history.find(name)
    for version in table.versions[known:] if table is not None else ():
        if scn >= version.since:
            what = version.ddl or "its structure was read again by a snapshot"
            raise LakeError(
                f"{name} has a different structure since SCN {version.since}, unknown to this query: {what}",
                hint="Call read_changes again and start the query with the same checkpoint: it continues from there.",
            )
