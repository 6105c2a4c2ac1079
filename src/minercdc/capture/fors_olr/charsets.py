"""Decodes text in Oracle's character sets, by their numbers (NLS_CHARSET_ID); 14 of them are known here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from minercdc.errors import ValueDecodeError

AL16UTF16: Final = 2000
_UTF8: Final = 871
_CODECS: Final[Mapping[int, str]] = {
    1: "ascii",  # US7ASCII
    31: "iso8859-1",  # WE8ISO8859P1
    32: "iso8859-2",  # EE8ISO8859P2
    35: "iso8859-5",  # CL8ISO8859P5
    46: "iso8859-15",  # WE8ISO8859P15
    152: "cp866",  # RU8PC866
    170: "cp1250",  # EE8MSWIN1250
    171: "cp1251",  # CL8MSWIN1251
    178: "cp1252",  # WE8MSWIN1252
    196: "koi8-r",  # CL8KOI8R
    852: "gbk",  # ZHS16GBK
    _UTF8: "utf-8",
    873: "utf-8",  # AL32UTF8
    AL16UTF16: "utf-16-be",
}
MULTI_BYTE: Final = frozenset({852, _UTF8, 873, AL16UTF16})


def text_of(data: bytes, charset: int | None) -> str:
    """The text of bytes in a character set.

    :param charset: its NLS_CHARSET_ID; None when the server did not give it.
    :raises ValueDecodeError: the character set is not given or not known here, or the bytes are no text in it.
    """
    codec = _CODECS.get(charset) if charset is not None else None
    if codec is None:
        raise ValueDecodeError(
            f"text in character set number {charset} is not supported"
            if charset
            else "the server sent text without its character set"
        )
    try:
        if charset == _UTF8:  # supplementary characters are two surrogates there
            return data.decode("utf-8", "surrogatepass").encode("utf-16-be", "surrogatepass").decode("utf-16-be")
        return data.decode(codec)
    except UnicodeError as error:
        shown = data[:40].hex() + (".." if len(data) > 40 else "")
        raise ValueDecodeError(f"{shown} is not valid text in {codec}") from error
