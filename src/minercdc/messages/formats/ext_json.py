"""JSON of Apicurio's ExtJsonConverter: the payload, and the id of its schema in the registry."""

from __future__ import annotations

import json

from minercdc.errors import RecordSchemaError
from minercdc.messages.formats.connect import schema_of
from minercdc.messages.formats.converting import Write
from minercdc.messages.formats.naming import of_topic
from minercdc.messages.registries.apicurio import ApicurioSchemas
from minercdc.messages.registries.confluent import SchemaText


class ExtJsonFormat:
    """JSON with the id of its schema, of one side of the records, key or value (formats.converting.Format)."""

    def __init__(self, schemas: ApicurioSchemas) -> None:
        self._schemas = schemas

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that puts the id of the schema before each payload; it raises nothing.

        :raises RecordSchemaError: the registry refuses the schema.
        :raises SinkError, DeliveryError: the registry refuses us, or does not answer.
        """
        connect = schema_of(schema)
        text = SchemaText(json.dumps(connect, separators=(",", ":"), ensure_ascii=False), "KCONNECT")
        try:
            found = self._schemas.artifact(
                topic, str(connect.get("name") or ""), text, lambda other: bool(json.loads(other) == connect)
            )
        except RecordSchemaError as error:
            raise of_topic(topic, error) from None
        head = f'{{"schemaId":{found.ids["globalId"]},"payload":'.encode()
        return lambda document, begin, end: head + document[begin:end] + b"}"
