"""Values as CloudEvents 1.0 in structured JSON, as Debezium's CloudEventsConverter writes them.

    id, source, type, time    of the change, made of the members of `source`
    iodebezium<member>        op, the members of `source` and of `transaction`, without the underscores of their names; int64 as text
    data                      before and after, with their schema where it is wanted

Records that are no changes (DDL, heartbeats, notifications, transaction metadata) stay JSON; Debezium makes tombstones of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from minercdc.errors import DecodeError
from minercdc.formats.connect import Schema, schema_of
from minercdc.formats.converting import Write
from minercdc.formats.json_format import JsonFormat

_DATA = "io.debezium.connector.oracle.Data"
_TYPE = "io.debezium.connector.oracle.DataChangeEvent"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD, _REST = b'{"before":', b',"source":{'
_TRANSACTION = {"id": "txid", "total_order": "txtotalorder", "data_collection_order": "txdatacollectionorder"}


class CloudEventsFormat:
    """CloudEvents of values (formats.converting.Format).

    :param schemas: whether `data` has a schema.
    :param extensions: whether there are `iodebezium` attributes.
    """

    def __init__(self, *, schemas: bool, extensions: bool) -> None:
        self._schemas = schemas
        self._extensions = extensions
        self._others = JsonFormat(schemas=schemas)

    def compile(self, topic: str, schema: bytes) -> Write:
        """See `formats.converting.Format`."""
        connect = schema_of(schema)
        fields = {field["field"]: field for field in connect.get("fields", ())}
        if (
            not str(connect.get("name", "")).endswith(".Envelope")
            or not {"before", "after", "source", "op"} <= fields.keys()
        ):
            return self._others.compile(topic, schema)
        data = _data_schema(fields) if self._schemas else b""
        texts = frozenset(member["field"] for member in fields["source"]["fields"] if member["type"] == "int64")
        attributes = _attributes(texts, extensions=self._extensions)

        def written(document: bytes, begin: int, end: int) -> bytes:
            at = document.rfind(_REST, begin, end)
            if at < 0 or not document.startswith(_HEAD, begin):
                raise DecodeError(f"a record of topic {topic} is no change event, though its schema is that of one")
            rest = json.loads(b"{" + document[at + 1 : end])
            payload = document[begin:at] + b"}"
            content = data + payload + b"}" if data else payload
            return attributes(rest) + b',"data":' + content + b"}"

        return written


def _data_schema(fields: Mapping[str, Schema]) -> bytes:
    schema = {"type": "struct", "fields": [fields["before"], fields["after"]], "optional": False, "name": _DATA}
    return b'{"schema":' + json.dumps(schema, separators=(",", ":"), ensure_ascii=False).encode() + b',"payload":'


def _attributes(texts: frozenset[str], *, extensions: bool) -> Callable[[Mapping[str, Any]], bytes]:
    """A function that prints the attributes of an event, without the brace at the end.

    :param texts: members of `source` whose numbers are texts: a CloudEvents integer has 32 bits.
    """

    def attributes(rest: Mapping[str, Any]) -> bytes:
        source = rest["source"]
        places = (f"{name}:{_shown(source.get(name))}" for name in ("name", "scn", "commit_scn", "lcr_position"))
        found: dict[str, Any] = {
            "id": ";".join(places),
            "source": f"/debezium/oracle/{source['name']}",
            "specversion": "1.0",
            "type": _TYPE,
            "time": _time(source["ts_ms"]),
            "datacontenttype": "application/json",
        }
        if extensions:
            found["iodebeziumop"] = rest["op"]
            for name, value in source.items():
                found[_extension(name)] = str(value) if name in texts and value is not None else value
            transaction = rest.get("transaction") or {}
            for name, short in _TRANSACTION.items():
                value = transaction.get(name)
                found[_extension(short)] = None if value is None else str(value)
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)[:-1].encode()

    return attributes


def _extension(name: str) -> str:
    return "iodebezium" + name.replace("_", "")


def _shown(value: object) -> str:
    return "null" if value is None else str(value)


def _time(milliseconds: int) -> str:
    return f"{(_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec='milliseconds')[:-6]}Z"
