"""A bounded cache for conversions whose inputs repeat: dates, seconds of a day, amounts."""

from __future__ import annotations

from collections.abc import Callable

_LIMIT = 100_000


class Memo(dict[str, str]):
    """`memo[text]` is `convert(text)`, remembered; emptied when it holds too much.

    A dict subclass because `memo.__getitem__` then is a C call on a hit: a third of the cost of `functools.lru_cache`
    with its linked list and lock.
    """

    __slots__ = ("_convert",)

    def __init__(self, convert: Callable[[str], str]) -> None:
        super().__init__()
        self._convert = convert

    def __missing__(self, text: str) -> str:
        if len(self) >= _LIMIT:
            self.clear()
        value = self[text] = self._convert(text)
        return value
