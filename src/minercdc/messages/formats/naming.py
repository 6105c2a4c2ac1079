"""Explains the origin of names in the schemas of records, so that an error names the property to change."""

from __future__ import annotations

from dataclasses import dataclass

from minercdc.errors import MinerCdcError, RecordSchemaError, SinkError
from minercdc.schema.name_adjustment import Mode

_OF_STEP = "change a name that a step of transforms gives in that step"


@dataclass(frozen=True, slots=True)
class Naming:
    """What names are made of.

    :param fields: `field.name.adjustment.mode`, which columns' names went through.
    :param schemas: `schema.name.adjustment.mode`, which schemas' names went through.
    :param transformed: there are transformations, whose steps may give names that no mode adjusts.
    :param prefix: `topic.prefix`, which names of schemas begin with; '' where that is not known.
    """

    fields: Mode = "none"
    schemas: Mode = "none"
    transformed: bool = False
    prefix: str = ""

    def of_field(self, *others: str) -> str:
        """The hint for a name of a field that a format does not take; '' where no setting makes another one.

        :param others: what replaces other characters, too.
        """
        return self._hint("field.name.adjustment.mode", self.fields, others)

    def of_schema(self) -> str:
        """The hint for a name of a schema that a format does not take; '' where no setting makes another one."""
        return self._hint("schema.name.adjustment.mode", self.schemas, ())

    def apart(self) -> str:
        """The hint for two fields whose names become the same."""
        if self.fields != "avro_unicode":
            return "field.name.adjustment.mode=avro_unicode keeps them apart; or leave one out by column.exclude.list."
        return "Leave one of them out by column.exclude.list, or rename it by a step of transforms."

    def refused_schema(self, name: str, part: str, why: str) -> MinerCdcError:
        """The error for the name of a schema of which a format does not take a part. It is a SinkError where all tables have that part,
        from `topic.prefix`; else it concerns the table.

        :param why: what the format takes.
        """
        message = f"the schema name {name} {why}: {part}"
        if self.prefix and name.startswith(f"{self.prefix}.") and part in self.prefix.split("."):
            message = f"{message}, a part of topic.prefix={self.prefix}, which the names of all tables' schemas begin with"
            return SinkError(message, hint=self.of_schema())
        return RecordSchemaError(message, hint=self.of_schema())

    def _hint(self, name: str, mode: Mode, others: tuple[str, ...]) -> str:
        ways = [*others, *([f"{name}=avro"] if mode == "none" else [])]
        said = f"{', or '.join(ways)} replaces other characters" if ways else ""
        parts = [said, _OF_STEP if self.transformed else ""]
        text = "; ".join(filter(None, parts))
        return f"{text[:1].upper()}{text[1:]}." if text and not said else f"{text}." if text else ""


NOT_ADJUSTED = Naming()


def of_topic(topic: str, error: RecordSchemaError) -> RecordSchemaError:
    """The error of a schema with the topic that its records are for."""
    return RecordSchemaError(f"records of topic {topic}: {error.message}", hint=error.hint)
