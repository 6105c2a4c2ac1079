"""What is shown, and recorded, of the errors of Spark and Java."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minercdc.errors import LakeError
from minercdc.lake.merge.attempts import cause_of
from minercdc.lake.stream.app import first_cause

CATALOG = "Failed to connect: jdbc:postgresql://db:5432/lake?user=lake&password=tiger"


@pytest.mark.parametrize("shown", [lambda text: cause_of(RuntimeError(text)), first_cause])
def test_the_address_of_a_catalog_is_shown_without_its_secrets(shown: Callable[[str], str]) -> None:
    found = shown(f"{CATALOG}\n  at org.apache.iceberg.jdbc.JdbcClientPool")
    assert "tiger" not in found
    assert found.startswith("Failed to connect: jdbc:postgresql://db:5432/lake?")


def test_a_cause_of_java_is_shown_without_secrets() -> None:
    error = RuntimeError(f"An error occurred\nCaused by: java.lang.RuntimeException: commit\nCaused by: {CATALOG}")
    assert cause_of(error) == "Failed to connect: jdbc:postgresql://db:5432/lake?***"
    assert "Found conflicting files" in cause_of(RuntimeError("Caused by: ValidationException: Found conflicting files"))


def test_an_error_of_ours_is_shown_as_it_is() -> None:
    assert cause_of(LakeError("the table\n is gone")).endswith("the table is gone")
    assert cause_of(LakeError("it is gone", hint="Make it again.")).endswith("it is gone. Make it again.")
    assert first_cause("Spark\nminercdc.errors.LakeError: MC-8001: gone") == "minercdc.errors.LakeError: MC-8001: gone"
