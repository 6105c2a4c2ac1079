"""A section of the configuration: a frozen model whose fields are properties.

Field `database_pdb_name` is the property `database.pdb.name`; an irregular name gets an explicit alias. A value from the
environment (`MINERCDC_DATABASE_PDB_NAME`, or `MINERCDC_DATABASE_PDB_NAME_FILE` naming a file that holds it) wins over the file.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MethodType
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from minercdc.schema.patterns import configured_pattern


def property_of(field_name: str) -> str:
    """`database_pdb_name` -> `database.pdb.name`."""
    return field_name.replace("_", ".")


@cache
def environment_name(property_name: str) -> str:
    """`database.pdb.name` -> `MINERCDC_DATABASE_PDB_NAME`; our own `minercdc.` prefix is not doubled."""
    bare = property_name.removeprefix("minercdc.")
    return "MINERCDC_" + bare.replace(".", "_").replace("-", "_").upper()


def _split_list(value: object) -> object:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    return value


def _patterns(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        configured_pattern(value)
    return values


def _lower(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(value.lower() for value in values)


CommaList = Annotated[tuple[str, ...], BeforeValidator(_split_list)]
PatternList = Annotated[CommaList, AfterValidator(_patterns)]
"""Regular expressions of names."""
WordList = Annotated[CommaList, AfterValidator(_lower)]
"""Words of an enumeration, whose case does not matter."""


def choices(annotation: Any) -> Iterator[str]:
    """The texts that an annotation allows, as far as it is an enumeration."""
    for part in get_args(annotation):
        if get_origin(annotation) is Literal:
            yield part
        else:
            yield from choices(part)


def one_of(given: str, expected: str) -> str:
    """What is wrong with a word that is none of an enumeration.

    :param expected: the words as pydantic lists them: `'a', 'b' or 'c'`.
    """
    words = re.findall(r"'([^']*)'", expected)
    near = difflib.get_close_matches(given.strip().lower(), [word.lower() for word in words], 1, 0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"'{given}' is not one of {', '.join(words)}{hint}"


_Rule = TypeVar("_Rule", bound=Callable[[Any], Iterator[str]])
# While a configuration is loaded: properties whose values cannot be used, so that the environment is not read for them. Rules are
# left to the loader then.
_left_out: ContextVar[Collection[str] | None] = ContextVar("left out", default=None)


def rule(check: _Rule) -> _Rule:
    """Marks a method of a section that yields contradictions between its properties, one line each."""
    check.is_rule = True  # type: ignore[attr-defined]
    return check


class UnreadableVariableError(OSError):
    """A file that the environment names cannot be read.

    :param name: of the property.
    """

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"the file named by {environment_name(name)}_FILE cannot be read: {error}")
        self.name = name


@contextmanager
def leaving_out(names: Collection[str]) -> Iterator[None]:
    """While it lasts, sections are made without these properties of the environment, and without looking at their rules."""
    token = _left_out.set(names)
    try:
        yield
    finally:
        _left_out.reset(token)


class EnvironmentSource(PydanticBaseSettingsSource):
    """What is passed in, and over it the properties given by environment variables, or by the files that variables ending in `_FILE` name.

    Calling it raises UnreadableVariableError when such a file cannot be read.

    :param given: values by the names of fields or properties.
    """

    def __init__(self, section: type[BaseSettings], given: Mapping[str, Any]) -> None:
        super().__init__(section)
        self._given = given

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value, None when the environment has none; the property's name; False. Raises as the class says."""
        name = field.alias or property_of(field_name)
        variable = environment_name(name)
        if variable in os.environ:
            return os.environ[variable], name, False
        if path := os.environ.get(variable + "_FILE"):
            try:
                return Path(path).read_text(encoding="utf-8").rstrip("\r\n"), name, False
            except (OSError, UnicodeDecodeError) as error:
                raise UnreadableVariableError(name, error) from None
        return None, name, False

    def __call__(self) -> dict[str, Any]:
        found = dict(self._given)
        for field_name, field in self.settings_cls.model_fields.items():
            if (field.alias or property_of(field_name)) in (_left_out.get() or ()):
                continue
            value, name, _ = self.get_field_value(field, field_name)
            if value is not None:
                found.pop(field_name, None)
                found[name] = value
        return found


@cache
def _rules(section: type[Section]) -> tuple[Callable[[Any], Iterator[str]], ...]:
    """The methods of a section that `rule` marks, by their names."""
    return tuple(found for _, found in sorted(vars(section).items()) if getattr(found, "is_rule", False))


def in_declared_case(fields: Mapping[str, FieldInfo], value: object, name: str | None) -> object:
    """A word of an enumeration in the case it is declared in; other values as they are.

    :param name: of the field; None: the value is of no field.
    """
    if not isinstance(value, str) or name is None:
        return value
    words = choices(fields[name].annotation)
    return next((word for word in words if isinstance(word, str) and word.lower() == value.strip().lower()), value)


def no_text(value: str) -> str:
    """Why a value cannot be encoded, with what to do; '' when it can be."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return "holds one half of a surrogate pair, or a byte that is not UTF-8; write the character itself, in UTF-8"
    return ""


class Section(BaseSettings):
    """One group of properties, frozen. A value from the environment wins over one that is passed in, which wins over the default.

    :raises ValidationError: a property is unknown, a value cannot be used, or a rule is broken; no rule is checked within `leaving_out`.
    :raises UnreadableVariableError: a file that the environment names cannot be read.
    """

    model_config = SettingsConfigDict(
        alias_generator=property_of, populate_by_name=True, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    def __init__(self, **given: Any) -> None:
        # The package would make four sources for each section, and each would read the whole environment.
        super().__init__(_build_sources=((EnvironmentSource(type(self), given),), {}))

    @field_validator("*", mode="before")
    @classmethod
    def _fold(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, str) and (problem := no_text(value)):
            raise ValueError(problem)
        return in_declared_case(cls.model_fields, value, info.field_name)

    @model_validator(mode="after")
    def _obey_rules(self) -> Self:
        if _left_out.get() is None and (problems := [line for check in self.rules() for line in check(self)]):
            raise ValueError("; ".join(problems))
        return self

    @classmethod
    def rules(cls) -> Iterator[Callable[[Any], Iterator[str]]]:
        """The methods of this class itself, not of its bases, that `rule` marks."""
        return iter(_rules(cls))

    @classmethod
    def properties(cls) -> dict[str, FieldInfo]:
        """Property name -> field, in the order in which the section declares them."""
        return {field.alias or property_of(name): field for name, field in cls.model_fields.items()}


class UnusableValueError(Exception):
    """A rule has asked a `Sound` view for a value that cannot be used."""


class Sound:
    """A section as rules see it: a value that cannot be used raises UnusableValueError, so that nothing follows from it.

    :param unusable: property names.
    """

    def __init__(self, section: Section, unusable: Collection[str]) -> None:
        self._section = section
        self._unusable = unusable

    def __getattr__(self, name: str) -> Any:
        field = type(self._section).model_fields.get(name)
        if field is not None:
            if (field.alias or property_of(name)) in self._unusable:
                raise UnusableValueError(name)
            return getattr(self._section, name)
        own = getattr(type(self._section), name, None)
        if isinstance(own, property) and own.fget is not None and name in type(self._section).__dict__:
            return own.fget(self)
        found = getattr(self._section, name)
        return (
            MethodType(found.__func__, self) if isinstance(found, MethodType) and found.__self__ is self._section else found
        )


def holds(check: Callable[[Any], Iterator[str]], seen: Any) -> Iterator[str]:
    """What rule `check` finds in `seen`, a section or all of them; nothing more from where it needs a value that cannot be
    used."""
    try:
        yield from check(seen)
    except UnusableValueError:
        return
