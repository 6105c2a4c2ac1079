"""A section of the configuration: a frozen model whose fields are Debezium properties.

Field `database_pdb_name` is the property `database.pdb.name`; an irregular name gets an explicit alias. A value from the
environment (`MINERCDC_DATABASE_PDB_NAME`, or `MINERCDC_DATABASE_PDB_NAME_FILE` naming a file that holds it) wins over the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


def property_of(field_name: str) -> str:
    """`database_pdb_name` -> `database.pdb.name`."""
    return field_name.replace("_", ".")


def environment_name(property_name: str) -> str:
    """`database.pdb.name` -> `MINERCDC_DATABASE_PDB_NAME`; our own `minercdc.` prefix is not doubled."""
    bare = property_name.removeprefix("minercdc.")
    return "MINERCDC_" + bare.replace(".", "_").replace("-", "_").upper()


def _split_list(value: object) -> object:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    return value


def _lower(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(value.lower() for value in values)


CommaList = Annotated[tuple[str, ...], BeforeValidator(_split_list)]
WordList = Annotated[CommaList, AfterValidator(_lower)]
"""Words of an enumeration, whose case does not matter."""


def choices(annotation: Any) -> Iterator[str]:
    """The texts that an annotation allows, as far as it is an enumeration."""
    for part in get_args(annotation):
        if get_origin(annotation) is Literal:
            yield part
        else:
            yield from choices(part)


class EnvironmentSource(PydanticBaseSettingsSource):
    """Properties given by environment variables, or by the files that variables ending in `_FILE` name.

    Calling it raises OSError when such a file cannot be read.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The value, None when the environment has none; the property's name; False. Raises OSError as the class says."""
        name = field.alias or property_of(field_name)
        variable = environment_name(name)
        if variable in os.environ:
            return os.environ[variable], name, False
        if path := os.environ.get(variable + "_FILE"):
            return Path(path).read_text().rstrip("\r\n"), name, False
        return None, name, False

    def __call__(self) -> dict[str, Any]:
        found = {}
        for field_name, field in self.settings_cls.model_fields.items():
            value, name, _ = self.get_field_value(field, field_name)
            if value is not None:
                found[name] = value
        return found


class Section(BaseSettings):
    """One group of properties. A value from the environment wins over one that is passed in, which wins over the default."""

    model_config = SettingsConfigDict(
        alias_generator=property_of, populate_by_name=True, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _fold(cls, value: object, info: ValidationInfo) -> object:
        """A word of an enumeration in the case it is declared in; other values as they are."""
        if not isinstance(value, str) or info.field_name is None:
            return value
        words = choices(cls.model_fields[info.field_name].annotation)
        return next((choice for choice in words if choice.lower() == value.strip().lower()), value)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return EnvironmentSource(settings_cls), init_settings

    @classmethod
    def properties(cls) -> dict[str, FieldInfo]:
        """Property name -> field."""
        return {field.alias or property_of(name): field for name, field in cls.model_fields.items()}
