"""Dead letters: rows and TRUNCATEs that are left out, as they were in redo or as they were decoded, for repair by hand.

Written in the same commit as the changes around them, in one partition, in the order of the stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from minercdc.stream.contracts import Record
from minercdc.stream.events import UndecodableRow
from minercdc.stream.offset import JsonValue


def dead_letter(topic: str, row: UndecodableRow) -> Record:
    """The record of a row that is left out. Its key is the row's place in redo: SCN, thread, RS_ID, SSN, transaction."""
    tx, table = row.tx, row.table
    place: dict[str, JsonValue] = {
        "scn": str(row.scn),
        "redo_thread": tx.redo_thread if tx else None,
        "rs_id": row.rs_id,
        "ssn": row.ssn,
        "txId": tx.id if tx else None,
    }
    value: dict[str, JsonValue] = {
        **place,
        "commit_scn": str(tx.commit_scn) if tx else None,
        "txSeq": row.seq,
        "row_id": row.row_id,
        "db": table.database if table else None,
        "schema": table.schema if table else None,
        "table": table.table if table else None,
        "operation": row.op,
        "error": row.reason,
        "redo_sql": row.redo_sql,
        "ts_us": row.time_us,
        **_images(row),
    }
    return Record(topic, _json(place), _json(value), partition=0)


def _images(row: UndecodableRow) -> dict[str, JsonValue]:
    """`before` and `after` of a row that was decoded, in Oracle's text, without values that redo does not hold; {} of a row with
    SQL_REDO, or that was not decoded."""
    if row.images is None or row.redo_sql is not None:
        return {}
    schema, before, after = row.images
    return {
        name: {
            column.name: value
            for column, value in zip(schema.columns, image, strict=True)
            if value is None or isinstance(value, str)
        }
        for name, image in (("before", before), ("after", after))
        if image is not None
    }


def _json(document: Mapping[str, JsonValue]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
