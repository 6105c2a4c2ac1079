"""Ports that are free."""

from __future__ import annotations

from minercdc.local.ports import free_port


def test_a_port_that_is_taken_already_is_not_given_though_nothing_listens() -> None:
    taken = [port for port in range(1, 65_536) if port % 10 < 5]  # some systems give odd ones alone
    assert all(free_port(taken=taken) % 10 >= 5 for _ in range(20))
