"""Decides which users' transactions are captured: `log.mining.username.*` and `log.mining.clientid.*`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from minercdc.config.source.log_mining import LogMiningConfig

Wants: TypeAlias = Callable[[str | None, str | None], bool]
"""Whether a transaction with this USERNAME and CLIENT_ID is wanted; each is None where LogMiner does not give it."""


def user_filter(config: LogMiningConfig) -> Wants | None:
    """A function of a transaction's user and client ID, which says by the lists of the configuration whether the transaction is
    wanted; None where all lists are empty, so that all transactions are wanted.

    Users that LogMiner does not know (`UNKNOWN`) pass, or their transactions would be lost. Where it knows the user, a missing
    CLIENT_ID means that the session had none, and no list of those to include names it.
    """
    users = config.log_mining_username_include_list, config.log_mining_username_exclude_list
    clients = config.log_mining_clientid_include_list, config.log_mining_clientid_exclude_list
    if not any((*users, *clients)):
        return None

    def wants(user: str | None, client_id: str | None) -> bool:
        known = None if user == "UNKNOWN" else user
        client = client_id or (None if known is None else "")
        return _listed(known, *users) and _listed(client, *clients)

    return wants


def _listed(name: str | None, included: Sequence[str], excluded: Sequence[str]) -> bool:
    """Whether a name passes the lists, upper and lower case being the same: it is not in `excluded`, and in `included` unless
    that is empty. None, which is not known, passes."""
    if name is None:
        return True
    folded = name.upper()
    return folded not in map(str.upper, excluded) and (not included or folded in map(str.upper, included))
