"""What the errors of an Iceberg catalog mean: which ones say that it does not answer, or that it refuses who asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minercdc.config.urls import without_secrets
from minercdc.errors import LakeError

Cause = tuple[str, str]
"""The full name of a Java exception's class, and its message."""

_REFUSED = ("NotAuthorizedException", "ForbiddenException")
_UNREACHED = (
    "RESTException",
    "ServiceUnavailableException",
    "ServiceFailureException",
    "UncheckedSQLException",
    "ConnectException",
    "UnknownHostException",
    "HttpHostConnectException",
    "TTransportException",
)


def java_causes(error: BaseException) -> Iterator[Cause]:
    """The Java exceptions that an error of py4j or PySpark holds, the outermost first; none for an error of Python."""
    found: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while found is not None:
        yield str(found.getClass().getName()), str(found.getMessage() or "")
        found = found.getCause()


def unreached(catalog: str, uri: str, causes: Sequence[Cause]) -> LakeError | None:
    """The error that a catalog does not answer or refuses who asks, if these causes say so; else None.

    :param catalog: its name in SQL.
    :param uri: its address, '' for none; secrets in it are not shown.
    :param causes: the outermost first.
    """
    at = f"the catalog {catalog}" + (f" at {without_secrets(uri)}" if uri else "")
    for name, message in causes:
        if name.endswith(_REFUSED):
            return LakeError(
                f"{at} refuses the lake: {_line(message)}",
                hint="Check minercdc.lake.catalog.credential or minercdc.lake.catalog.token, and what the catalog grants to it.",
            )
    if any(name.endswith(_UNREACHED) for name, _ in causes):
        name, message = causes[-1]
        if "No suitable driver" in message:
            return LakeError(
                f"{at} cannot be reached: {_line(message)}",
                hint="Name the jar of its JDBC driver in minercdc.lake.spark.jars, or its package in minercdc.lake.spark.jars.packages.",
            )
        return LakeError(
            f"{at} does not answer: {_line(message) or name}",
            hint="Check minercdc.lake.catalog.uri, and that the catalog runs. Start the lake again: it goes on where it was.",
        )
    return None


def _line(message: str) -> str:
    return without_secrets(" ".join(message.split()))
