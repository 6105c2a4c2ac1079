"""Groups of commands. The order of arguments is one everywhere: the words of the command, CONFIG, the rest. CONFIG may as well stand
before a group's command, and does in `minercdc signal CONFIG TYPE`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from minercdc.cli.plain_help import Group


def command_first(args: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments of a group with its command, or what is a typo of one, before CONFIG, whichever of both came first.

    :param commands: of the group.
    """
    match args:
        case [config, command, *rest] if _is_config(config, commands) and _means_one(command, commands):
            return [command, config, *rest]
    return list(args)


def config_first(args: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments of a group with CONFIG before its command, or what is a typo of one, whichever of both came first."""
    match args:
        case [command, config, *rest] if _means_one(command, commands) and _is_config(config, commands):
            return [config, command, *rest]
    return list(args)


def _is_config(word: str, commands: Collection[str]) -> bool:
    return word not in commands and not word.startswith("-") and not nearest(word, commands)


def _means_one(word: str, commands: Collection[str]) -> bool:
    return word in commands or (not word.startswith("-") and bool(nearest(word, commands)))


def nearest(word: str, commands: Collection[str]) -> str:
    """The command that a mistyped word most probably means; '' for none, and for the name of a file that is there."""
    if word in commands or Path(word).exists():
        return ""
    return next(iter(get_close_matches(word, list(commands), 1)), "")


class CommandFirst(Group):
    """A group whose commands take CONFIG: `minercdc offsets show CONFIG`, and `minercdc offsets CONFIG show`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As of Group, with the arguments in order."""
        return super().parse_args(ctx, command_first(args, self.commands))


class ConfigFirst(Group):
    """A group that takes CONFIG itself: `minercdc signal CONFIG log x`, and `minercdc signal log CONFIG x`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As of Group, with the arguments in order."""
        ordered = config_first(args, self.commands)
        if ordered and ordered[0] in self.commands and not {"-h", "--help"} & set(ordered):
            ctx.fail(f"CONFIG comes first: {ctx.command_path} CONFIG {ordered[0]} ..")
        return super().parse_args(ctx, ordered)
