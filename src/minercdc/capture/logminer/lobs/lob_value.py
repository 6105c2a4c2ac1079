"""Builds one LOB value of its pieces, and knows whether all of it is known."""

from __future__ import annotations

from bisect import bisect_left

from minercdc.capture.logminer.lobs.lob_text import Edit, Erase, Write


class LargeValue:
    """Edits applied to a LOB, in order.

    Of an unknown LOB only what was written from its beginning on without a gap is known; it becomes known as a whole when it
    is trimmed to that or less, which is how a SecureFile is replaced: write, then trim.
    Pieces are kept as they come and joined once: most LOBs are written front to back, and they may be large.

    :param base: the value before the edits; None when it is not known.
    :param binary: a BLOB, as hex; offsets and lengths then count bytes.
    """

    def __init__(self, base: str | None, *, binary: bool) -> None:
        self._pieces: list[str] = [base] if base else []
        self._starts: list[int] = [0] if base else []
        self._length = len(base or "")
        self._known = base is not None
        self._width = 2 if binary else 1
        self._filler = "0" if binary else " "
        self._is_written = False
        self._is_refilled = False

    @property
    def is_refilled(self) -> bool:
        """Whether the value was cut to nothing first, and then only written to, as a BasicFile is replaced."""
        return self._is_refilled and self._is_written

    @property
    def is_emptied(self) -> bool:
        """Whether the value was cut to nothing, and nothing was written."""
        return self._known and not self._length and not self._is_written

    def goes_on_with(self, edit: Write) -> bool:
        """Whether a write begins where the value ends, as the pieces of one value do."""
        return edit.offset * self._width == self._length

    def apply(self, edit: Edit) -> None:
        """Apply one more edit. Writing beyond the end of a known value fills the hole with blanks or zero bytes, of an
        unknown one it has no effect; erasing stops at the end."""
        width = self._width
        if isinstance(edit, Write):
            self._is_written = True
            start = edit.offset * width
            if start > self._length:
                if not self._known:
                    return  # after a gap: it counts only if the value becomes known, and then it was cut off
                self._replace(self._length, self._filler * (start - self._length))
            self._replace(start, edit.data)
        elif isinstance(edit, Erase):
            start, end = (min(at * width, self._length) for at in (edit.offset, edit.offset + edit.amount))
            self._replace(start, self._filler * (end - start))
        elif edit.length * width <= self._length:
            self._is_refilled = not edit.length and not self._is_written
            at = self._cut(edit.length * width)
            del self._pieces[at:], self._starts[at:]
            self._length, self._known = edit.length * width, True

    def text(self) -> str | None:
        """The whole value as Row text; None when it is not known."""
        return "".join(self._pieces) if self._known else None

    def _replace(self, start: int, data: str) -> None:
        if not data:
            return
        first, last = self._cut(start), self._cut(min(start + len(data), self._length))
        self._pieces[first:last] = [data]
        self._starts[first:last] = [start]
        self._length = max(self._length, start + len(data))

    def _cut(self, at: int) -> int:
        """Index of the piece that begins at `at`; the piece that holds it is cut in two there. The number of pieces at or
        beyond the end."""
        if at >= self._length:
            return len(self._pieces)
        index = bisect_left(self._starts, at)
        if index < len(self._starts) and self._starts[index] == at:
            return index
        whole, start = self._pieces[index - 1], self._starts[index - 1]
        self._pieces[index - 1 : index] = [whole[: at - start], whole[at - start :]]
        self._starts.insert(index, at)
        return index
