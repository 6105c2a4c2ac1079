"""What is asked of registries, and what becomes of answers that fit nothing."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.unit.messages.formats.registry_server import Answer, registry_server
from tests.unit.messages.formats.test_plain import document

from minercdc.errors import RecordSchemaError, SinkError
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.avro.schema import avro_schema, avro_text
from minercdc.messages.formats.connect import DECIMAL
from minercdc.messages.formats.converting import Side
from minercdc.messages.protobuf.records import ProtobufFormat
from minercdc.messages.protobuf.schema import ProtobufOptions
from minercdc.messages.registries.access import RegistryAccess
from minercdc.messages.registries.apicurio import ApicurioRegistry, ApicurioSchemas, artifact_names
from minercdc.messages.registries.confluent import SchemaRegistry, SchemaText
from minercdc.messages.registries.registered import ConfluentSchemas, Identity, Refusals
from minercdc.messages.registries.subjects import TOPIC, subject_names

IDS = {"globalId": 7, "contentId": 8}
TEXT = SchemaText('"string"')
ROW = {"type": "struct", "name": "Row", "fields": [{"type": "int32", "field": "ID"}]}
AMOUNTS = {
    "type": "struct",
    "name": "Row",
    "fields": [
        {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}, "field": "AT"}
    ],
}


def schemas(address: str, version: str = "v3", **more: Any) -> ApicurioSchemas:
    access = RegistryAccess((f"http://{address}/apis/registry/{version}",), timeout=30)
    given: dict[str, Any] = {"auto_register": True, "if_exists": "FIND_OR_CREATE_VERSION", "find_latest": False}
    return ApicurioSchemas(
        ApicurioRegistry(access),
        artifact_names("TopicIdStrategy", "value", ""),
        kind="globalId",
        as_confluent=False,
        header_prefix="",
        **{**given, **more},
    )


def registered(asked: str) -> Answer:
    """As a registry that takes any schema, and holds `"string"`."""
    if "/ids/" in asked:
        return 200, TEXT.text
    return 200, {"version": IDS, **IDS}


def confluent(address: str, *, use_latest: bool = False, use_id: int | None = None) -> ConfluentSchemas:
    registry = SchemaRegistry(RegistryAccess((f"http://{address}",), timeout=30))
    subject = subject_names(TOPIC, "value")
    return ConfluentSchemas(registry, subject, auto_register=True, use_latest=use_latest, normalize=False, use_id=use_id)


def test_apicurio_registers_with_find_latest_too_as_its_own_converters_do() -> None:
    with registry_server(registered) as server:
        found = schemas(server.address, find_latest=True).identity("t", "Row", TEXT, lambda _: False)
    assert found.number == 7
    (asked,) = server.requests
    assert asked.startswith("POST ")


@pytest.mark.parametrize(
    ("version", "word", "sent"),
    [
        ("v3", "RETURN_OR_UPDATE", "FIND_OR_CREATE_VERSION"),
        ("v3", "UPDATE", "CREATE_VERSION"),
        ("v3", "FAIL", "FAIL"),
        ("v2", "FIND_OR_CREATE_VERSION", "RETURN_OR_UPDATE"),
        ("v2", "UPDATE", "UPDATE"),
    ],
)
def test_the_words_of_one_version_of_the_api_are_said_in_the_other(version: str, word: str, sent: str) -> None:
    with registry_server(registered) as server:
        schemas(server.address, version, if_exists=word).identity("t", "Row", TEXT, lambda _: True)
    assert [asked.partition("?")[2] for asked in server.requests] == [f"ifExists={sent}"]


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_return_takes_the_newest_schema_where_it_is_the_same(version: str) -> None:
    with registry_server(registered) as server:
        chosen = schemas(server.address, version, if_exists="RETURN")
        assert chosen.identity("t", "Row", TEXT, lambda text: text == TEXT.text).number == 7
        with pytest.raises(RecordSchemaError, match=r"different fields(.|\n)*if-exists=RETURN"):
            chosen.identity("t", "Row", TEXT, lambda _: False)
    assert not [path for path in server.requests if path.startswith("POST")]
    with registry_server(lambda asked: registered(asked) if asked.startswith("POST") else (404, {})) as server:
        chosen = schemas(server.address, version, if_exists="RETURN")
        assert chosen.identity("t", "Row", TEXT, lambda _: False).number == 7
    assert server.requests[-1].endswith("?ifExists=FAIL")


def _latest(text: str, _: str) -> Answer:
    return 200, {"id": 1, "schema": text}


def test_a_schema_of_another_kind_has_other_fields() -> None:
    for text in ('syntax = "proto3";', "[1]", '{"$schema":"x"}', '{"type":"record"}'):
        with registry_server(partial(_latest, text)) as server:
            side = Side(AvroFormat(confluent(server.address, use_latest=True)))
            with pytest.raises(RecordSchemaError, match="has different fields from the table"):
                side.rewritten("t", document(ROW, {"ID": 1}))


def test_the_schema_of_an_id_that_is_given_has_to_have_the_fields() -> None:
    with registry_server(partial(_latest, avro_text(avro_schema(ROW)))) as server:
        side = Side(AvroFormat(confluent(server.address, use_id=77)))
        assert side.rewritten("t", document(ROW, {"ID": 1}))[:5] == b"\0\0\0\0\x4d"
        assert server.requests == ["GET /schemas/ids/77"]
    with registry_server(partial(_latest, '{"type":"record","name":"Row","fields":[]}')) as server:
        side = Side(AvroFormat(confluent(server.address, use_id=77)))
        with pytest.raises(
            RecordSchemaError, match=r"schema of id 77 has different fields from the table(.|\n)*use\.schema\.id"
        ):
            side.rewritten("t", document(ROW, {"ID": 1}))


def _row_of(**meaning: Any) -> str:
    """A schema of rows with one amount in bytes, or without anything said of them."""
    kind = {"type": "bytes", **meaning} if meaning else "bytes"
    return json.dumps({"type": "record", "name": "Row", "fields": [{"name": "A", "type": kind}]})


@pytest.mark.parametrize("meta_data", [True, False])
def test_a_schema_that_reads_values_otherwise_is_not_written_with(meta_data: bool) -> None:
    """Bytes of another scale would be read as a number a hundred times as large, without an error."""
    decimal = {"name": DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "9"}}
    row = {"type": "struct", "name": "Row", "fields": [{"type": "bytes", "field": "A", **decimal}]}
    said = {"logicalType": "decimal", "precision": 12}
    for theirs in (_row_of(), _row_of(**said, scale=2), _row_of(**said, scale=2, **{"connect.name": DECIMAL})):
        with registry_server(partial(_latest, theirs)) as server:
            side = Side(AvroFormat(confluent(server.address, use_latest=True), meta_data=meta_data))
            assert side.rewritten("t", document(row, {"A": "AQ=="}))[5:] == b"\x02\x01"
    for theirs in (_row_of(**said, scale=4), _row_of(**said), _row_of(**{"connect.name": "io.debezium.data.Bits"})):
        with registry_server(partial(_latest, theirs)) as server:
            side = Side(AvroFormat(confluent(server.address, use_latest=True), meta_data=meta_data))
            with pytest.raises(RecordSchemaError, match="has different fields from the table"):
                side.rewritten("t", document(row, {"A": "AQ=="}))


def test_imports_are_registered_but_not_where_the_newest_schema_is_used() -> None:
    def answer(asked: str) -> Answer:
        return 200, {"id": 1, "version": 1, "schema": 'syntax = "proto3";'}

    with registry_server(answer) as server:
        side = Side(ProtobufFormat(confluent(server.address), ProtobufOptions(), skip_known=False))
        side.rewritten("t", document(AMOUNTS, {"AT": "BNI="}))
    assert [path for path in server.requests if "decimal.proto" in path]
    with registry_server(answer) as server:
        latest = confluent(server.address, use_latest=True)
        with pytest.raises(RecordSchemaError, match="has different fields from the table"):
            Side(ProtobufFormat(latest, ProtobufOptions(), skip_known=False)).rewritten(
                "t", document(AMOUNTS, {"AT": "BNI="})
            )
    assert server.requests == ["GET /subjects/t-value/versions/latest"]


@pytest.mark.parametrize("content", ["<html>Sign in</html>", [], {}, "7"])
def test_an_answer_that_is_no_registrys_is_an_error_that_says_so(content: Any) -> None:
    with registry_server(lambda _: (200, content)) as server:
        registry = SchemaRegistry(RegistryAccess((f"http://{server.address}",), timeout=30))
        apicurio = schemas(server.address)
        for ask in (
            lambda: registry.register("s", TEXT),
            lambda: registry.lookup("s", TEXT),
            lambda: registry.version("s", TEXT, just_registered=True),
            lambda: registry.latest("s"),
            lambda: registry.schema(1),
            lambda: apicurio.identity("t", "Row", TEXT, lambda _: True),
        ):
            with pytest.raises(SinkError, match=r"answers without (id|version|schema)"):
                ask()


def test_what_is_waited_for_is_said_at_once(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([(503, {"message": "starting"}), (503, {"message": "starting"}), (200, {"id": 7})])
    with registry_server(lambda _: next(answers)) as server:
        assert SchemaRegistry(RegistryAccess((f"http://u:s3cret@{server.address}",), timeout=9)).register("s", TEXT) == 7
    (said,) = caplog.messages
    assert said == f"the schema registry at http://{server.address} does not answer: 503 starting; trying for 9 s"


def test_the_next_url_is_asked_where_one_fails_and_each_has_its_own_user() -> None:
    with (
        registry_server(lambda _: (501, {"message": "starting"})) as first,
        registry_server(lambda _: (200, {"id": 7})) as second,
    ):
        urls = (f"http://u:one@{first.address}", f"http://v:two@{second.address}/api")
        assert SchemaRegistry(RegistryAccess(urls, timeout=30)).register("s", TEXT) == 7
    sent = [b64decode(one.headers[0]["authorization"].removeprefix("Basic ")) for one in (first, second)]
    assert (sent, second.requests) == ([b"u:one", b"v:two"], ["POST /api/subjects/s/versions"])


def test_a_token_is_all_that_a_registry_with_tokens_gets() -> None:
    with registry_server(lambda _: (200, {"id": 7})) as server:
        SchemaRegistry(RegistryAccess((f"http://{server.address}",), token="t0ken", timeout=30)).register("s", TEXT)
    (headers,) = server.headers
    assert headers["authorization"] == "Bearer t0ken"
    assert "target-sr-cluster" not in headers


def test_a_schema_is_registered_again_where_its_subject_may_be_gone() -> None:
    ids = iter((7, 8))
    with registry_server(lambda _: (200, {"id": next(ids)})) as server:
        registry = SchemaRegistry(RegistryAccess((f"http://{server.address}",), timeout=30))
        assert [registry.register("s", TEXT), registry.register("s", TEXT)] == [7, 8]


def test_a_url_that_is_none_is_an_error_without_the_password() -> None:
    for url in ("http://registry:port", "http://user:s3?cret@registry:8081"):
        registry = SchemaRegistry(RegistryAccess((url,), timeout=30))
        with pytest.raises(SinkError, match="is not a URL") as raised:
            registry.schema(1)
        assert "s3" not in str(raised.value)


def test_the_urls_for_records_have_neither_user_nor_query() -> None:
    access = RegistryAccess(("http://user:s3cret@a:80/x", "https://b?k=s3cret"))
    assert SchemaRegistry(access).url == ApicurioRegistry(access).url
    assert SchemaRegistry(access).url.endswith("a/x,https://b")
    assert "s3cret" not in json.dumps(access.shown())


@pytest.mark.parametrize(("code", "missing"), [(40401, "subject S"), (40403, "such schema under subject S")])
def test_a_schema_that_is_missing_has_its_own_cause(code: int, missing: str) -> None:
    with registry_server(lambda _: (404, {"error_code": code, "message": "not found"})) as server:
        registry = SchemaRegistry(RegistryAccess((f"http://{server.address}",), timeout=30))
        with pytest.raises(
            RecordSchemaError, match=rf"has no {missing}, and auto\.register\.schemas=false\n  hint: Register it"
        ):
            registry.lookup("S", TEXT)
        with pytest.raises(RecordSchemaError, match=rf"has no {missing}, and auto\.register\.schemas=false"):
            registry.version("S", TEXT, just_registered=False)
        with pytest.raises(SinkError, match=rf"has no {missing}, although it has just registered it") as refused:
            registry.version("S", TEXT, just_registered=True)
    assert "auto.register.schemas" not in str(refused.value)


def test_an_import_that_is_gone_once_it_was_registered() -> None:
    """As by someone who deletes the subject, or URLs of two registries: auto.register.schemas=false is not to blame."""

    def forgetful(asked: str) -> Answer:
        return (200, {"id": 7}) if asked.endswith("/versions") else (404, {"error_code": 40401, "message": "gone"})

    with registry_server(forgetful) as server:
        side = Side(ProtobufFormat(confluent(server.address), ProtobufOptions(optional=True), skip_known=False))
        with pytest.raises(SinkError, match="has no subject [a-z/_]+.proto, although it has just registered it"):
            side.rewritten("t", document(AMOUNTS, {"AT": "AQ=="}))


def _registry(level: str, versions: list[str], *, readable: bool = True) -> Callable[[str], Answer]:
    """Answers of a registry that finds a new schema not compatible with those that it has."""

    def answer(asked: str) -> Answer:
        if asked.startswith("POST") and "compatibility" in asked:
            return 200, {"is_compatible": False, "messages": ["READER_FIELD_MISSING"]}
        if asked.startswith("POST"):
            return 409, {"error_code": 409, "message": "incompatible"}
        if asked.startswith("GET /config/t-value"):
            return (200, {"compatibilityLevel": level}) if level else (404, {"error_code": 40408})
        if not readable:
            return 403, {"message": "no"}
        if asked.endswith("/versions"):
            return 200, list(range(1, len(versions) + 1))
        if asked.endswith("/latest"):
            return 200, {"id": len(versions) * 10, "schema": versions[-1]}
        number = int(asked.rpartition("/")[2]) if "/versions/" in asked else 0
        return (200, {"id": number * 10, "schema": versions[number - 1]}) if number else (404, {})

    return answer


def _row(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Row", "fields": fields})


WITH_N = _row({"name": "ID", "type": "int"}, {"name": "N", "type": "string"})
OF_TEXT = _row({"name": "ID", "type": "string"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            _registry("BACKWARD", [OF_TEXT]),
            r" \(BACKWARD\): ID was string and is int; the registry says: READER_FIELD_MISSING",
        ),
        (_registry("FORWARD", [WITH_N]), r" \(FORWARD\): N was removed and had no default; the registry says"),
        (
            _registry("FULL_TRANSITIVE", [WITH_N, _row({"name": "ID", "type": "int"})]),
            r".* had no default \(against the schema of id 10\)",
        ),
        (_registry("FORWARD", [WITH_N, _row({"name": "ID", "type": "int"})]), r" \(FORWARD\); the registry says: READER"),
        (_registry("", [OF_TEXT]), ": ID was string and is int; the registry says"),
        (_registry("BACKWARD", [OF_TEXT], readable=False), r" \(BACKWARD\); the registry says: READER"),
    ],
)
def test_a_schema_that_is_not_compatible_is_refused_with_the_fields(answer: Callable[[str], Answer], said: str) -> None:
    with registry_server(answer) as server:
        side = Side(AvroFormat(confluent(server.address)))
        with pytest.raises(
            RecordSchemaError, match=f"records of topic t: .* subject t-value as not compatible{said}"
        ) as refused:
            side.rewritten("t", document(ROW, {"ID": 1}))
    assert "subject t-value to NONE" in refused.value.hint


def test_the_level_of_all_subjects_holds_where_one_has_none() -> None:
    def answer(asked: str) -> Answer:
        return (200, {"compatibilityLevel": "FULL"}) if asked == "GET /config" else (404, {"error_code": 40408})

    with registry_server(answer) as server:
        assert SchemaRegistry(RegistryAccess((f"http://{server.address}",), timeout=30)).compatibility("S") == "FULL"


def test_apicurio_is_compared_with_the_newest_version_too() -> None:
    def answer(asked: str) -> Answer:
        if asked.startswith("POST"):
            return 409, {"name": "RuleViolationException", "causes": [{"description": "missing", "context": "/"}]}
        if asked.endswith("/rules/COMPATIBILITY"):
            return (200, {"config": "BACKWARD"}) if "/admin/" in asked else (404, {})
        return (200, OF_TEXT) if "/ids/" in asked else (200, {"version": IDS, **IDS})

    with registry_server(answer) as server:
        side = Side(AvroFormat(schemas(server.address)))
        with pytest.raises(
            RecordSchemaError, match=r"artifact t-value \(BACKWARD\): ID was string and is int; .*says: missing"
        ):
            side.rewritten("t", document(ROW, {"ID": 1}))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_registry_that_refuses_us_is_no_matter_of_one_table(status: int) -> None:
    with registry_server(lambda _: (status, {"message": "no"})) as server:
        for made in (confluent(server.address), schemas(server.address)):
            with pytest.raises(SinkError, match=f"failed at registering a schema .*{status} no"):
                Side(AvroFormat(made)).rewritten("t", document(ROW, {"ID": 1}))


@pytest.mark.parametrize("status", [413, 422])
def test_a_schema_that_is_not_taken_is_a_matter_of_one_table(status: int) -> None:
    with registry_server(lambda _: (status, {"error_code": 42201, "message": "Invalid schema"})) as server:
        for made in (confluent(server.address), schemas(server.address)):
            with pytest.raises(RecordSchemaError, match=rf"of \w+ t-value: {status} Invalid schema(.|\n)*The schema is \{{"):
                Side(AvroFormat(made)).rewritten("t", document(ROW, {"ID": 1}))


@pytest.mark.parametrize("content", [{"id": "seven"}, {"id": None}, {"id": [1]}])
def test_an_id_that_is_no_number_is_an_error_that_says_so(content: Any) -> None:
    with (
        registry_server(lambda _: (200, content)) as server,
        pytest.raises(SinkError, match="answers with id=.*not a number"),
    ):
        SchemaRegistry(RegistryAccess((f"http://{server.address}",), timeout=30)).register("S", TEXT)


def test_a_refusal_holds_for_a_second_and_then_the_registry_is_asked_again() -> None:
    now, asked = [0.0], list[float]()
    refusals = Refusals(lambda: now[0])

    def ask() -> Identity:
        asked.append(now[0])
        if now[0] < 2:
            raise RecordSchemaError("refused", hint="change it")
        return Identity(7, b"")

    for now[0] in (0.0, 0.5, 0.9, 1.0, 1.5):
        with pytest.raises(RecordSchemaError, match=r"refused\n  hint: change it"):
            refusals.asked(("t", "{}"), ask)
    now[0] = 1.6
    with pytest.raises(RecordSchemaError):
        refusals.asked(("other", "{}"), ask)
    now[0] = 2.1
    assert refusals.asked(("t", "{}"), ask).number == 7
    assert asked == [0.0, 1.0, 1.6, 2.1]
