"""What the errors of an Iceberg catalog mean."""

from __future__ import annotations

import pytest

from minercdc.errors import LakeError
from minercdc.lake.table.catalog_errors import java_causes, unreached

URI = "https://lake:sesame@catalog.example.com/api?key=sesame"
ICEBERG = "org.apache.iceberg.exceptions."
CONNECT = "org.apache.iceberg.shaded.org.apache.hc.client5.http.HttpHostConnectException"


def found(*causes: tuple[str, str]) -> LakeError:
    error = unreached("lakehouse", URI, causes)
    assert error is not None
    assert "sesame" not in str(error)
    assert "the catalog lakehouse at https://" in str(error)
    return error


@pytest.mark.parametrize("name", ["NotAuthorizedException", "ForbiddenException"])
def test_a_catalog_that_refuses(name: str) -> None:
    text = str(found((f"{ICEBERG}{name}", "Not authorized:\n  no such client")))
    assert "refuses the lake: Not authorized: no such client" in text
    assert "minercdc.lake.catalog.credential or minercdc.lake.catalog.token" in text


@pytest.mark.parametrize(
    ("causes", "reason"),
    [
        ([(f"{ICEBERG}RESTException", "GET failed"), (CONNECT, "Connection refused")], "Connection refused"),
        ([("java.lang.RuntimeException", "x"), ("java.net.UnknownHostException", "nowhere")], "nowhere"),
        ([("org.apache.iceberg.jdbc.UncheckedSQLException", "a"), ("java.sql.SQLException", "")], "java.sql.SQLException"),
        ([(f"{ICEBERG}ServiceUnavailableException", f"try {URI} later")], "later"),
    ],
)
def test_a_catalog_that_does_not_answer(causes: list[tuple[str, str]], reason: str) -> None:
    text = str(found(*causes))
    assert "does not answer: " in text
    assert reason in text
    assert "minercdc.lake.catalog.uri" in text


def test_a_driver_that_is_missing() -> None:
    text = str(
        found(
            ("org.apache.iceberg.jdbc.UncheckedSQLException", "a"),
            ("java.sql.SQLException", "No suitable driver found for x"),
        )
    )
    assert "cannot be reached: No suitable driver found for x" in text
    assert "minercdc.lake.spark.jars" in text


def test_other_errors_are_not_the_catalogs() -> None:
    assert unreached("lakehouse", URI, [(f"{ICEBERG}CommitFailedException", "conflict")]) is None
    assert unreached("lakehouse", "", []) is None
    assert list(java_causes(ValueError("no Java"))) == []


def test_a_catalog_without_an_address() -> None:
    error = unreached("minercdc", "", [(f"{ICEBERG}RESTException", "x")])
    assert str(error).startswith("MC-8001: the catalog minercdc does not answer: x")
