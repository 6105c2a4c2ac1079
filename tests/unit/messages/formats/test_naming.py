"""What an error says of a name that a format does not take."""

from __future__ import annotations

import pytest

from minercdc.errors import MinerCdcError, RecordSchemaError, SinkError
from minercdc.messages.avro.schema import avro_schema
from minercdc.messages.formats.connect import Schema
from minercdc.messages.formats.naming import Naming
from minercdc.messages.protobuf.schema import ProtobufOptions, protobuf_file


def row(*names: str, name: str = "shop.S.T.Value") -> Schema:
    return {"type": "struct", "name": name, "fields": [{"type": "int32", "field": field} for field in names]}


STEP = "change a name that a step of transforms gives in that step"


@pytest.mark.parametrize(
    ("naming", "avro", "protobuf"),
    [
        (
            Naming(),
            "field.name.adjustment.mode=avro replaces other characters.",
            "scrub.invalid.names=true of the converter, or field.name.adjustment.mode=avro replaces other characters.",
        ),
        (
            Naming(transformed=True),
            f"field.name.adjustment.mode=avro replaces other characters; {STEP}.",
            f"scrub.invalid.names=true of the converter, or field.name.adjustment.mode=avro replaces other characters; {STEP}.",
        ),
        (
            Naming(fields="avro", transformed=True),
            "Change a name that a step of transforms gives in that step.",
            f"scrub.invalid.names=true of the converter replaces other characters; {STEP}.",
        ),
    ],
)
def test_a_hint_names_no_mode_that_is_set_already(naming: Naming, avro: str, protobuf: str) -> None:
    with pytest.raises(RecordSchemaError, match="field name a.b") as refused:
        avro_schema(row("a.b"), naming)
    assert refused.value.hint == avro
    with pytest.raises(RecordSchemaError, match="name a.b") as refused:
        protobuf_file(row("a.b"), ProtobufOptions(naming=naming))
    assert refused.value.hint == protobuf


@pytest.mark.parametrize(
    ("name", "naming", "kind", "hint"),
    [
        ("shop.S.T$1.Value", Naming(prefix="shop"), RecordSchemaError, "schema.name.adjustment.mode=avro replaces"),
        (
            "shop.S.T$1.Value",
            Naming(schemas="avro", transformed=True, prefix="shop"),
            RecordSchemaError,
            "Change a name that a step",
        ),
        ("shop.S.T$1.Value", Naming(schemas="avro", prefix="shop"), RecordSchemaError, ""),
        ("my-shop.S.T.Value", Naming(prefix="my-shop"), SinkError, "schema.name.adjustment.mode=avro replaces"),
        ("other-shop.S.T.Value", Naming(prefix="my-shop"), RecordSchemaError, "schema.name.adjustment.mode=avro replaces"),
    ],
)
def test_a_part_of_the_prefix_concerns_all_tables(name: str, naming: Naming, kind: type[MinerCdcError], hint: str) -> None:
    """One that concerns all of them stops the connector: no table could be published."""
    for refuse in (lambda: avro_schema(row("A", name=name), naming), lambda: _protobuf(name, naming)):
        with pytest.raises(kind, match="schema name") as refused:
            refuse()
        assert refused.value.hint.startswith(hint)
        assert bool(refused.value.hint) == bool(hint)
        assert ("topic.prefix" in refused.value.message) is (kind is SinkError)


def _protobuf(name: str, naming: Naming) -> None:
    protobuf_file(row("A", name=name), ProtobufOptions(naming=naming))


@pytest.mark.parametrize(
    ("mode", "hint"), [("avro", "avro_unicode keeps them apart"), ("avro_unicode", "Leave one of them out")]
)
def test_names_that_become_the_same_in_protobuf(mode: str, hint: str) -> None:
    naming = Naming(fields=mode)  # type: ignore[arg-type]
    with pytest.raises(RecordSchemaError, match=f"A B and A_B of Value both become A_B(.|\n)*{hint}"):
        protobuf_file(row("A B", "A_B"), ProtobufOptions(scrub=True, naming=naming))


def test_structs_of_one_name_that_differ_are_no_avro_schema() -> None:
    """As after HeaderToValue into `after` alone. Avro would write a reference to the first one, and readers misread the second."""
    before, after = ({**row(*names), "field": field} for names, field in ((("A",), "before"), (("A", "B"), "after")))
    envelope: Schema = {"type": "struct", "name": "shop.S.T.Envelope", "fields": [before, after]}
    with pytest.raises(RecordSchemaError, match="schema name shop.S.T.Value and not the same fields: before and after"):
        avro_schema(envelope)
    assert avro_schema({**envelope, "fields": [before, {**before, "field": "after"}]})
