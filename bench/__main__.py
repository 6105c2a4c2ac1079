"""python -m bench [STAGE ..]: runs the stages and prints the table. Needs the packages of `make install`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from bench.capacity_stages import CAPACITY_STAGES
from bench.catch_up_stages import CATCH_UP_STAGES
from bench.format_stages import FORMAT_STAGES
from bench.lake_stages import FORMATS, lake_stages
from bench.latency_stages import LATENCY_STAGES
from bench.path_stages import PATH_STAGES
from bench.processes import Sandbox
from bench.relay_stages import RELAY_STAGES
from bench.report import Measure, machine, show
from bench.server_stages import SERVER_STAGES
from bench.signal_stages import SIGNAL_STAGES
from bench.stages import Bench
from bench.tables import SEED
from bench.text_stages import TEXT_STAGES
from bench.transform_stages import TRANSFORM_STAGES
from minercdc.local.kafka_broker import KafkaBroker

PIPELINE_STAGES = ("insert", "mined", "encode", "stream", "snapshot", "idle")
BROKER_STAGES = {
    **PATH_STAGES,
    **CATCH_UP_STAGES,
    **CAPACITY_STAGES,
    **SIGNAL_STAGES,
    **lake_stages("delta"),
    **LATENCY_STAGES,
}
SANDBOX_STAGES = {**TEXT_STAGES, **FORMAT_STAGES, **TRANSFORM_STAGES, **SERVER_STAGES, **RELAY_STAGES}
STAGES = (*PIPELINE_STAGES, *SANDBOX_STAGES, *BROKER_STAGES)
ONLY_BY_NAME = (
    "versions",
    "large",
    "long",
    "million",
    "incremental",
    "lake_wide",
    "lake_updates",
    "lake_tiny",
    "catch_up",
    "latency",
    "compression",
)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("stage", nargs="*", help=f"of {', '.join(STAGES)}; default all but {', '.join(ONLY_BY_NAME)}")
    parser.add_argument("--format", choices=FORMATS, default="delta", help="of the tables of the lake's stages")
    arguments = parser.parse_args()
    broker_stages = BROKER_STAGES | lake_stages(arguments.format)
    wanted = arguments.stage or [stage for stage in STAGES if stage not in ONLY_BY_NAME]
    if unknown := sorted(set(wanted) - set(STAGES)):
        parser.error(f"no such stage: {', '.join(unknown)}")
    console, begun, facts = Console(width=140), time.monotonic(), machine()
    measures: list[Measure] = []
    with TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        broker = KafkaBroker(directory / "kafka")
        try:
            needs_broker = bool({"stream", "snapshot", "idle", *BROKER_STAGES} & set(wanted))
            bootstrap_servers = broker.start().bootstrap_servers if needs_broker else "-"
            for stage in wanted:
                # A sandbox of its own: nothing of the stage before is in its logs.
                with Sandbox(directory, SEED) as sandbox:
                    console.print(f"{stage} ..", highlight=False)
                    if stage in SANDBOX_STAGES:
                        measures += SANDBOX_STAGES[stage](sandbox, directory)
                    elif stage in broker_stages:
                        measures += broker_stages[stage](sandbox, directory, bootstrap_servers)
                    else:
                        measures += getattr(Bench(directory, sandbox, bootstrap_servers), stage)()
        finally:
            broker.stop()
    show(measures, facts, console)
    console.print(f"took {time.monotonic() - begun:.0f} s", highlight=False)


main()
