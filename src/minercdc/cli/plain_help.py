"""Help as a user types it: `--force` with no type of its value, since it takes none, and `CONFIG` with no braces."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options, flags with no type."""
        return _without_flag_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of its usage line: optional ones in brackets."""
        return _without_braces(super().collect_usage_pieces(ctx))


class Group(TyperGroup):
    """A group of commands with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options, flags with no type."""
        return _without_flag_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of its usage line: optional ones in brackets."""
        return _without_braces(super().collect_usage_pieces(ctx))


def _without_flag_types(params: list[Any]) -> list[Any]:
    for one in params:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
    return params


def _without_braces(pieces: list[str]) -> list[str]:
    return [piece.replace("{", "").replace("}", "") for piece in pieces]
