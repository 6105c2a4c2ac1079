"""Policies that show a user a part of a table."""

from __future__ import annotations

from typing import Any

import pytest

from minercdc.errors import PrerequisiteError
from minercdc.oracle.policies import policy_findings
from minercdc.schema.table import TableId

ORDERS, ITEMS = TableId("D", "SHOP", "ORDERS"), TableId("D", "SHOP", "ITEMS")
NOT_GRANTED = PrerequisiteError("ORA-00942")
RLS, REDACT = "ALL_POLICIES", "REDACTION_POLICIES"


class Answering:
    """A connection that answers a query by the view it reads; an error is raised. Without an answer there are no rows."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers
        self._rows: list[tuple[Any, ...]] = []

    def cursor(self) -> Answering:
        return self

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, _: object = None) -> Answering:
        found: Any = next((rows for view, rows in self._answers.items() if view in sql), [])
        if isinstance(found, Exception):
            raise found
        self._rows = found
        return self

    def __iter__(self) -> Any:
        return iter(self._rows)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({}, []),
        ({RLS: [("SHOP", "ORDERS")]}, [("ORDERS", "EXEMPT ACCESS POLICY")]),
        ({REDACT: [("SHOP", "ITEMS"), ("HR", "ITEMS")]}, [("ITEMS", "EXEMPT REDACTION POLICY")]),
        ({RLS: [("SHOP", "ORDERS")], REDACT: NOT_GRANTED}, [("ORDERS", "EXEMPT ACCESS POLICY")]),
        ({RLS: NOT_GRANTED, REDACT: NOT_GRANTED}, []),
        ({RLS: [("SHOP", "ORDERS")], "SESSION_PRIVS": [("EXEMPT ACCESS POLICY",)]}, []),
        ({REDACT: [("SHOP", "ITEMS")], "SESSION_PRIVS": [("EXEMPT REDACTION POLICY",)]}, []),
        (
            {RLS: [("SHOP", "ITEMS")] * 2, REDACT: [("SHOP", "ITEMS")]},
            [("ITEMS", "EXEMPT ACCESS POLICY"), ("ITEMS", "EXEMPT REDACTION POLICY")],
        ),
    ],
)
def test_a_table_with_a_policy_is_found_unless_the_user_is_exempt(
    answers: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    findings = list(policy_findings(Answering(answers), [ORDERS, ITEMS], "CDC"))  # type: ignore[arg-type]
    assert [(one.problem.partition(":")[0], one.fix) for one in findings] == [
        (f"SHOP.{table}", f"GRANT {privilege} TO CDC;") for table, privilege in found
    ]
