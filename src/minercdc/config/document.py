"""The page of all properties, made from the sections; docs/configuration.md is its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from minercdc.config.debezium import ignored as debezium
from minercdc.config.debezium.renaming import DRIVER, RENAMED, RENAMED_PREFIXES
from minercdc.config.load import SECTIONS
from minercdc.config.page_lines import wrapped

_INTRODUCTION = """\
# Configuration

Look up a property here. Made by `minercdc config`; do not edit. Property names and meanings are Debezium's; our own begin with `minercdc.`. Files may be
YAML (flat or nested), JSON (flat, or Kafka Connect's `{"name", "config"}`) or `.properties` with Java's syntax, those of Debezium
Server among them. Every property can be given by the environment instead: `database.password` as `MINERCDC_DATABASE_PASSWORD`, or
`MINERCDC_DATABASE_PASSWORD_FILE` naming a file. `minercdc config FILE` prints what is in force, and where it comes from.

In values, `${env:NAME}`, `${file:/path:key}`, `${file:/path}` and `${dir:/path:name}` are replaced. `config.providers` names others:
Kafka's `EnvVarConfigProvider`, `FileConfigProvider` and `DirectoryConfigProvider`, with `param.allowlist.pattern` or
`param.allowed.paths`; or an entry point of the group `minercdc.config_providers`, as of a plug-in for Vault: a callable that gets the
provider's `param.*` and returns a callable of path and key.
"""

_SPELLINGS = """\
Files of Debezium Server and of older versions of Debezium are read as they are. `debezium.source.` is dropped; `debezium.format.value`
is `value.converter`; `debezium.transforms` is `transforms`; `debezium.sink.kafka.producer.*` and `producer.override.*` are settings of
Kafka's Java clients, of which librdkafka gets its own form (`sasl.jaas.config`, PEM and PKCS#12 key stores, `max.request.size`).
`internal.` may stand before any name. A log line says for each of these what it is taken as:
"""

_WITHOUT_EFFECT = """\
A line in the log names each that is given. It is a warning for those that Debezium 3.6.1 and Kafka Connect do not read either, and for what Debezium does not read beside the
others: `xstream.*` unless `database.connection.adapter` is `xstream`, `openlineage.*` unless `openlineage.integration.enabled` is `true`, `log.mining.path.dictionary` unless
`log.mining.strategy` is `dictionary_from_file`, `debezium.sink.NAME.*` where `debezium.sink.type` is given and is another one.
"""

_SPARK = """\
`minercdc.lake.spark.*` (or `lake.spark.*`) is `spark.*` of the session that `minercdc lake` opens: `minercdc.lake.spark.master` is
`spark.master`, `minercdc.lake.spark.hadoop.fs.s3a.endpoint` is `spark.hadoop.fs.s3a.endpoint`.
What else begins with `minercdc.lake.catalog.` is a property of the Iceberg catalog: `minercdc.lake.catalog.credential` is its `credential`.
"""


def configuration_page() -> str:
    """The text of docs/configuration.md."""
    lines = [_INTRODUCTION]
    for section in SECTIONS.values():
        lines += [
            f"## {(section.__doc__ or '').splitlines()[0].rstrip('.')}",
            "",
            "| property | default | meaning |",
            "|---|---|---|",
        ]
        lines += [_row(name, field) for name, field in section.properties().items()]
        lines.append("")
    lines += ["## Accepted without effect", "", _WITHOUT_EFFECT, "| property | why | warning |", "|---|---|---|"]
    not_read = {**debezium.NOT_READ, **_starred(debezium.NOT_READ_PREFIXES)}
    lines += [
        f"| `{name}` | {reason} | {'yes' if name in not_read else ''} |"
        for name, reason in sorted({**debezium.IGNORED, **_starred(debezium.IGNORED_PREFIXES)}.items())
    ]
    lines += ["", "## Other spellings", "", _SPELLINGS, "| in the file | is taken as |", "|---|---|"]
    lines += [
        f"| `{old}` | `{new}` |" for old, new in sorted({**RENAMED, **DRIVER, **_starred_both(RENAMED_PREFIXES)}.items())
    ]
    lines += ["", "## Accepted only with these values", "", "| property | value |", "|---|---|"]
    lines += [
        f"| `{name}` | {' or '.join(f'`{v}`' for v in values if v)} |" for name, values in sorted(debezium.INERT.items())
    ]
    lines += ["", "## Refused", "", "| property | why |", "|---|---|"]
    lines += [
        f"| `{name}` | {reason} |"
        for name, reason in sorted({**debezium.UNSUPPORTED, **_starred(debezium.UNSUPPORTED_PREFIXES)}.items())
    ]
    lines += ["", "## Passed on to librdkafka", "", *_passed_on(), ""]
    lines += ["## Passed on to Spark", "", _SPARK, ""]
    return wrapped("\n".join(lines))


def configuration_document() -> list[dict[str, str | bool | None]]:
    """All properties, in the order of the page: `property`, `section`, `required`, `default` (None where there is none) and `meaning`."""
    return [
        {
            "property": name,
            "section": (section.__doc__ or "").splitlines()[0].rstrip("."),
            "required": field.default is PydanticUndefined,
            "default": None if field.default is PydanticUndefined else _default(field).strip("`") or None,
            "meaning": field.description or "",
        }
        for section in SECTIONS.values()
        for name, field in section.properties().items()
    ]


def _starred(prefixes: object) -> dict[str, str]:
    assert isinstance(prefixes, dict)
    return {f"{prefix}*": reason for prefix, reason in prefixes.items()}


def _starred_both(prefixes: Mapping[str, str]) -> dict[str, str]:
    return {f"{old}*": f"{new}*" for old, new in prefixes.items()}


def _passed_on() -> Iterator[str]:
    for prefix in (*debezium.KAFKA_PASS_THROUGH, *debezium.SIGNAL_PASS_THROUGH):
        yield f"- `{prefix}*`"


def _row(name: str, field: FieldInfo) -> str:
    return f"| `{name}` | {_default(field)} | {(field.description or '').replace('|', chr(92) + '|')} |"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "**required**"
    value = field.default
    if value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
