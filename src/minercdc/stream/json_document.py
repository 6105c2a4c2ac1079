"""Members of a JSON document that may have been changed by hand: one that is missing, or is of another type, is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

WRONG: Final = (ValueError, KeyError, TypeError, AttributeError, IndexError)
"""What reading a document raises that is not of the form it should have."""
_TYPES: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    type(None): "null",
}


def member(document: Any, name: str, *types: type) -> Any:
    """A member of a document. Raises ValueError, which names it, when it is missing, or is of none of the types (exactly: true
    is no `int`), or when the document is no object."""
    if not isinstance(document, dict):
        raise ValueError(f"{_TYPES[type(document)]} stands where an object is needed")
    if name not in document:
        raise ValueError(f"the member {name} is missing")
    return checked(document[name], name, *types)


def checked(value: Any, name: str, *types: type) -> Any:
    """`value` itself. Raises ValueError, with its name, when it is of none of the types (exactly: true is no `int`)."""
    if type(value) not in types:
        wanted = " or ".join(_TYPES[one] for one in types)
        raise ValueError(f"the member {name} is {_TYPES[type(value)]}, and has to be {wanted}")
    return value


@contextmanager
def within(name: str) -> Iterator[None]:
    """A context in which a member is read: an error of `WRONG` leaves it as a ValueError with its name."""
    try:
        yield
    except WRONG as error:
        raise ValueError(f"within the member {name}, {reason(error)}") from None


def reason(error: Exception) -> str:
    """What is wrong with a document, for people; `error` is one of `WRONG`."""
    if isinstance(error, KeyError):
        return f"the member {error.args[0]} is missing"
    return str(error) if isinstance(error, ValueError) else "a value is of another type than it has to be"
