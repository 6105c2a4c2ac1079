"""A real connector's lake: the sandbox, `minercdc run` and the lake of this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.e2e.lab import Lab
from tests.spark.reading import FORMAT

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.lake import start
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import StateTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 600.0  # ends what hangs only: on a busy machine a first merge of many tables takes minutes


def lake_config(lab: Lab, **changes: object) -> ConnectorConfig:
    """The configuration of a lab's connector with a lake beside its log."""
    settings: dict[str, object] = {
        "minercdc_lake_path": lab.directory / "lake",
        "minercdc_lake_trigger_interval_ms": 0,
        "minercdc_keyless_table_key": "rowid",
        "skipped_operations": "none",
        "minercdc_lake_format": FORMAT,
        "minercdc_lake_catalog_name": f"lake_{lab.schema}".lower(),
    }
    return load_config(lab.config("connector.yaml", **(settings | changes)))


@contextmanager
def running(lab: Lab) -> Iterator[None]:
    """The lab's connector, streaming, with the configuration written last."""
    with lab.run(lab.directory / "connector.yaml") as connector:
        connector.await_log("streaming", 60)
        yield
        connector.stop_in_order()


def scn_of(lab: Lab) -> int:
    """The SCN up to which everything is committed that was so far; reading the present one makes a new one, which an idle
    database has no redo of."""
    with lab.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE")
        (scn,) = cursor.fetchone()
        return int(scn) - 1


def sync(spark: SparkSession, config: ConnectorConfig, scn: int, seconds: float = _SECONDS) -> None:
    """Run the lake until it is complete up to an SCN, with a connector that streams."""
    lake, record = start(spark, config), StateTable(spark, format_of(config).state(spark))
    deadline = time.monotonic() + seconds
    try:
        while True:
            lake.process_all_available()
            if record.read().complete >= scn:
                return
            assert time.monotonic() < deadline, f"SCN {scn} was not complete within {seconds} s"
            time.sleep(0.3)  # a look is a job of Spark
    finally:
        lake.stop()
