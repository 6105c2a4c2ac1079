"""The members of envelopes that the change log has in columns of their own, in Spark SQL.

The connector prints an envelope in one order of members, and what comes before them differs: the row. So they are read from the end of
the text, split at its commas; to parse the document takes twice as long. It is parsed where a member is not in its place, as when a
name or the redo's SQL has a comma, there is a block of the transaction, or another program wrote the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minercdc.lake.spark.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What the text ends with: {.. "source":{.. "ts_ms":1,"snapshot":"false", .. "txSeq":1},"transaction":null,"op":"c", .. "ts_ns":1}
_END_BYTES = 700
_MEMBERS = {  # name -> place from the end, of what the commas separate, and Spark type
    "ts_ms": (-27, "BIGINT"),
    "snapshot": (-26, "STRING"),
    "scn": (-18, "STRING"),
    "commit_scn": (-17, "STRING"),
    "row_id": (-10, "STRING"),
    "commit_ts_ms": (-9, "BIGINT"),
    "txSeq": (-6, "BIGINT"),
    "op": (-4, "STRING"),
}
# No value of a row is an object that begins so.
_SOURCE_BEGINS = ',"source":{"version":"'
_SCHEMA_BEGINS = '{"schema":'
_PAYLOAD_BEGINS = ',"payload":{"before":'
_SOURCE = ", ".join(f"{name}: {kind}" for name, (_, kind) in _MEMBERS.items() if name != "op")
_ENVELOPE = f"STRUCT<source: STRUCT<{_SOURCE}>, op: STRING>"


def with_envelope(records: DataFrame, *, wrapped: bool) -> DataFrame:
    """The records with a struct `e` of ts_ms, snapshot, scn, commit_scn, row_id, commit_ts_ms, txSeq and op of their envelopes; all
    null where the value is no envelope; and `images`, the text of the envelope without what follows the row's images and its schema,
    or as it is where it is not in the connector's order of members.

    :param records: `value` as bytes of JSON text.
    :param wrapped: the envelope is the `payload` of the document.
    """
    rows = records.selectExpr("*", f"split(CAST(substring(value, -{_END_BYTES}, {_END_BYTES}) AS STRING), ',') AS ends")
    in_place = " AND ".join(f"startswith({_end(name)}, '\"{name}\":')" for name in _MEMBERS)
    in_place += f" AND endswith(try_element_at(ends, -1), '{'}}' if wrapped else '}'}')"
    rows = rows.selectExpr("*", f"coalesce({in_place}, false) AS in_place")
    envelope, path = (f"STRUCT<payload: {_ENVELOPE}>", "d.payload") if wrapped else (_ENVELOPE, "d")
    rows = rows.selectExpr("*", f"if(in_place, NULL, from_json(CAST(value AS STRING), {literal(envelope)})) AS d")
    members = ", ".join(
        f"'{name}', if(in_place, {_read(name)}, {path}.{'op' if name == 'op' else f'source.{name}'})" for name in _MEMBERS
    )
    rows = rows.selectExpr("*", f"{_before_source(wrapped=wrapped)} AS cut")
    images = f"if(in_place AND octet_length(cut) < octet_length(value), concat(cut, '{'}}' if wrapped else '}'}'), CAST(value AS STRING)) AS images"
    return rows.selectExpr("* EXCEPT (ends, in_place, d, cut)", f"named_struct({members}) AS e", images)


def _before_source(*, wrapped: bool) -> str:
    """SQL of the text up to the source block, which follows the images; the schema before them is left out. The names of the marks are
    not escaped, so that no text of a row is taken for one."""
    text = f"substring_index(CAST(value AS STRING), {literal(_SOURCE_BEGINS)}, 1)"
    if not wrapped:
        return text
    payload = f'concat(\'{{"payload":{{"before":\', substring_index({text}, {literal(_PAYLOAD_BEGINS)}, -1))'
    has_schema = (
        f"startswith(CAST(value AS STRING), {literal(_SCHEMA_BEGINS)}) AND contains({text}, {literal(_PAYLOAD_BEGINS)})"
    )
    return f"if({has_schema}, {payload}, {text})"


def _end(name: str) -> str:
    return f"try_element_at(ends, {_MEMBERS[name][0]})"


def _read(name: str) -> str:
    text, begin = _end(name), len(name) + 4  # of what follows `"name":`
    if _MEMBERS[name][1] == "BIGINT":
        return f"try_cast(rtrim('}}', substring({text}, {begin})) AS BIGINT)"
    return f"if(endswith({text}, '\"'), substring({text}, {begin + 1}, length({text}) - {begin + 1}), NULL)"
