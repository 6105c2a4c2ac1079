"""What users may import: the names of `minercdc`, `minercdc.lake`, `minercdc.relay`, `minercdc.extension` and `minercdc.errors`, with the
parameters of what users call.

A change here breaks the code of users: CONTRIBUTING.md says how a name goes.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import minercdc
from minercdc import errors, extension, lake, relay

ROOT = Path(__file__).parents[2]

# Parameters with a default end in `=`; those after `*` are named.
SURFACE = {
    "minercdc.Connector": "config, target=",
    "minercdc.Connector.run": "self, stop, *, standby=, served=",
    "minercdc.Connector.reload_filters": "self, config",
    "minercdc.Connector.signal": "self, type, data=, id=",
    "minercdc.Connector.notifications": "self",
    "minercdc.Connector.snapshots": "self",
    "minercdc.Conversion": "type, convert, name=, version=, parameters=",
    "minercdc.SnapshotStart": "offset_exists, snapshot_under_way",
    "minercdc.SnapshotSteps": "data, schema, stream=, again_on_schema_error=, again_on_data_error=",
    "minercdc.TableId": "database, schema, table",
    "minercdc.__version__": "str",
    "minercdc.errors": "module",
    "minercdc.hand_over": "config, scn=",
    "minercdc.lake": "module",
    "minercdc.load_config": "path, examine=",
    "minercdc.relay": "module",
    "minercdc.lake.Lake": "spark, config",
    "minercdc.lake.Lake.process_all_available": "self",
    "minercdc.lake.Lake.await_end": "self, stop",
    "minercdc.lake.Lake.stop": "self",
    "minercdc.lake.LakeTables": "scn, tables, incomplete",
    "minercdc.lake.MessageSchema": "key, value",
    "minercdc.lake.message_schema": "config, table",
    "minercdc.lake.read_changes": "spark, config, table=",
    "minercdc.lake.register": "spark",
    "minercdc.lake.session": "config, *, advance=",
    "minercdc.lake.snapshot": "spark, config, *, scn=, table=, coverage=, tries=, progress=",
    "minercdc.lake.start": "spark, config",
    "minercdc.lake.tables": "spark, config, scn=",
    "minercdc.relay.Change": "source, key, deleted, row, scn, time_ns, schema",
    "minercdc.relay.Checkpoint": "window_scn=, window_offset=, prev_scn=, mode=, time_ns=",
    "minercdc.relay.Checkpoint.to_json": "self",
    "minercdc.relay.ClientOptions": "bootstrap_first=, buffer_bytes=, buffer_max_bytes=, timeout=, longest_wait=, linger_ms=, name=",
    "minercdc.relay.FileCheckpoints": "path",
    "minercdc.relay.FileCheckpoints.load": "self",
    "minercdc.relay.FileCheckpoints.save": "self, checkpoint",
    "minercdc.relay.RelayClient": "url, consumer, checkpoints, *, sources=, filters=, bootstrap=, options=",
    "minercdc.relay.RelayClient.run": "self, stop",
    "minercdc.relay.SnapshotBootstrap": "config",
    "minercdc.relay.load_config": "path, examine=",
}


def surface(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name in module.__all__:
        found = getattr(module, name)
        where = f"{module.__name__}.{name}"
        if inspect.ismodule(found) or isinstance(found, str):
            yield where, type(found).__name__
            continue
        yield where, parameters(found)
        methods = vars(found).items() if inspect.isclass(found) else ()
        yield from (
            (f"{where}.{key}", parameters(value))
            for key, value in methods
            if inspect.isfunction(value) and not key.startswith("_")
        )


def parameters(function: object) -> str:
    assert callable(function)
    found, named = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            found.append("*")
            named = True
        found.append(one.name if one.default is inspect.Parameter.empty else f"{one.name}=")
    return ", ".join(found)


def test_names_and_parameters_are_those_of_the_last_release() -> None:
    assert {name: text for module in (minercdc, lake, relay) for name, text in surface(module)} == SURFACE


# What extensions of others work with.
EXTENSION = """Adapter AdapterFactory Capture CaptureContext CapturePrerequisites ChangeEvent ConnectRecord ConnectorConfig Event Finding Format
    JsonValue KafkaClient Offset OffsetSink Op Ownership Position Progress Record Schema SchemaChange Severity StopFlag TableId TableSchema
    Tables TopicNames TransactionInfo Transform Typed Write offset_from_bytes offset_to_bytes schema_of typed""".split()  # noqa: SIM905

ERRORS = {
    "ConfigError": "MC-1001",
    "DecodeError": "MC-4001",
    "DeliveryError": "MC-6101",
    "FellOffError": "MC-9103",
    "FencedError": "MC-6201",
    "LakeError": "MC-8001",
    "LocalServiceError": "MC-7001",
    "LogGapError": "MC-3301",
    "LostTransactionError": "MC-3302",
    "MinerCdcError": "MC-0000",
    "MiningSessionError": "MC-3201",
    "MissingKeyError": "MC-4302",
    "PrerequisiteError": "MC-2001",
    "RecordSchemaError": "MC-4501",
    "RedoSyntaxError": "MC-4101",
    "RelayDataError": "MC-9102",
    "RelayError": "MC-9101",
    "SchemaHistoryError": "MC-5001",
    "SchemaMismatchError": "MC-4301",
    "SharedTopicError": "MC-4502",
    "SinkError": "MC-6001",
    "SnapshotTooOldError": "MC-3401",
    "SourceError": "MC-3001",
    "StateDirectoryError": "MC-7101",
    "TransientSourceError": "MC-3101",
    "UnknownSourceError": "MC-3002",
    "UnplacedRowError": "MC-4303",
    "UnsupportedRowError": "MC-4401",
    "ValueDecodeError": "MC-4201",
    "VerificationError": "MC-9001",
}


def test_extensions_and_errors_have_the_names_and_codes_of_the_last_release() -> None:
    assert sorted(extension.__all__) == sorted(EXTENSION)
    assert all(hasattr(extension, name) for name in EXTENSION)
    of_ours = inspect.getmembers(errors, lambda one: inspect.isclass(one) and issubclass(one, errors.MinerCdcError))
    assert {name: error.code for name, error in of_ours} == ERRORS


def test_completion_shows_what_is_public() -> None:
    for module in (minercdc, lake, relay):
        assert set(module.__all__) <= set(dir(module))


def test_what_is_not_there_is_named() -> None:
    for module in (minercdc, lake, relay):
        with pytest.raises(AttributeError, match="nothing"):
            module.nothing  # noqa: B018


def test_documents_and_examples_import_nothing_else() -> None:
    doors = {"minercdc", "minercdc.errors", "minercdc.extension", "minercdc.lake", "minercdc.relay"}
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "docs").rglob("*.ipynb"),
        *(ROOT / "signals").glob("*.py"),
    ]
    found = [
        (page.name, name) for page in pages for name in re.findall(r"(?:from|import) (minercdc[\w.]*)", page.read_text())
    ]
    assert len(found) > 8
    assert {one for one in found if one[1] not in doors} == {("lake-on-a-cluster.md", "minercdc.cli.submit")}, (
        "spark-submit takes a file"
    )


def test_little_is_imported_with_the_package() -> None:
    """Every Python process of Spark imports it."""
    program = (
        "import sys, minercdc; minercdc.errors; print(*sorted(name for name in sys.modules if name.startswith('minercdc')))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["minercdc", "minercdc.errors"]


def test_the_lake_is_there_without_pyspark() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from minercdc import lake, load_config, Connector; print(lake.__name__)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "minercdc.lake\n"
