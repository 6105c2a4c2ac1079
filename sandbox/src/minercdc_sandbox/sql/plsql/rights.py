"""Whose rights the statements of a session have: the user's, or within a stored program those of its owner.

Stored programs have their owner's rights and schema (AUTHID DEFINER; PL/SQL Language Reference, "Invoker's Rights and Definer's Rights").
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minercdc_sandbox.interfaces import OraError

_DEEPEST = 50


class Rights:
    """The owners of the stored programs that a session is in, the innermost last; one object for each session, shared by its programs."""

    def __init__(self) -> None:
        self._owners: list[str] = []

    @property
    def owner(self) -> str | None:
        """The owner of the innermost program, whose rights statements have; None outside of any."""
        return self._owners[-1] if self._owners else None

    @contextmanager
    def of(self, owner: str) -> Iterator[None]:
        """Within the context, statements have the rights of the user `owner`. Raises ORA-00036 for more than 50 programs within
        each other."""
        if len(self._owners) >= _DEEPEST:
            raise OraError(36, f"maximum number of recursive SQL levels ({_DEEPEST}) exceeded")
        self._owners.append(owner)
        try:
            yield
        finally:
            self._owners.pop()
