"""A bounded cache for conversions whose inputs repeat: dates, minutes of a day, numbers that are spelled otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_LIMIT = 100_000


class Memo(dict[str, T], Generic[T]):
    """`memo[text]` is `convert(text)`, remembered; the memo is emptied when it holds 100,000 entries and another text comes.
    Errors of `convert` pass through, and are not remembered.

    A dict subclass because `memo.__getitem__` then is a C call on a hit: a third of the cost of `functools.lru_cache`
    with its linked list and lock.
    """

    __slots__ = ("_convert",)

    def __init__(self, convert: Callable[[str], T]) -> None:
        super().__init__()
        self._convert = convert

    def __missing__(self, text: str) -> T:
        if len(self) >= _LIMIT:
            self.clear()
        value = self[text] = self._convert(text)
        return value
