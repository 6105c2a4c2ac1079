"""Calls again what another writer's commit made fail, and finds the line of an error with its cause."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from minercdc.config.urls import without_secrets
from minercdc.errors import MinerCdcError

_ATTEMPTS = 6


def attempts(is_conflict: Callable[[BaseException], bool]) -> Retrying:
    """What calls a function, and calls it again where another writer's commit made it fail: up to six calls, after random
    pauses. The last call's error is raised, and any other error at once.

    :param is_conflict: see `TableFormat`.
    """
    return Retrying(
        retry=retry_if_exception(is_conflict),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(0.2, max=5),
        reraise=True,
    )


def cause_of(error: BaseException) -> str:
    """The cause in one line: the message of our own error; else the last `Caused by:` of a Java error, or its first line. It is recorded, and
    shown: without the secrets of URLs, such as the address of a JDBC catalog, that Java's messages repeat."""
    if isinstance(error, MinerCdcError):
        said, _, hint = str(error).partition("\n  hint: ")
        cause = " ".join(line.strip() for line in said.splitlines())
        return f"{cause.removesuffix('.')}. {hint}" if hint else cause
    causes = [line.strip() for line in str(error).splitlines() if line.strip().startswith("Caused by: ")]
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return without_secrets(causes[-1].removeprefix("Caused by: ") if causes else first)
