"""The form of the options of transformations and predicates."""

from __future__ import annotations

from typing import Annotated

import regex
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

from minercdc.config.section import in_declared_case, property_of


def _compiles(pattern: str) -> str:
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return pattern


def _pairs(value: object) -> object:
    """`a:b,c:d` as pairs; what has no colon stays alone."""
    if isinstance(value, str):
        return tuple(tuple(part.strip() for part in item.split(":")) for item in value.split(",") if item.strip())
    return value


Regex = Annotated[str, AfterValidator(_compiles)]
Pairs = Annotated[tuple[tuple[str, ...], ...], BeforeValidator(_pairs)]


class Options(BaseModel):
    """Options of one transformation or predicate; the field `topic_regex` is the option `topic.regex`.

    :raises ValidationError: an option is unknown, missing, or has a value that cannot be used.
    """

    model_config = ConfigDict(
        alias_generator=property_of, populate_by_name=True, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _fold(cls, value: object, info: ValidationInfo) -> object:
        return in_declared_case(cls.model_fields, value, info.field_name)


class ExtensionOptions(Options):
    """Options of a transformation of another package, which checks them itself."""

    model_config = ConfigDict(extra="allow")

    @property
    def given(self) -> dict[str, str]:
        """The options as they are given, by name."""
        return dict(self.model_extra or {})
