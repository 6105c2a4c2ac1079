"""A server that runs for long has opened more sessions than a 16-bit number counts."""

from __future__ import annotations

from minercdc_sandbox.server import sandbox_database


def test_session_ids_and_serial_numbers_fit_into_16_bits_for_ever() -> None:
    database = sandbox_database()
    try:
        kept = database.open_session("SYSTEM", "ORCLPDB1", {})
        for _ in range(70_000):
            session = database.open_session("SYSTEM", "ORCLPDB1", {})
            assert session.sid != kept.sid
            assert session.serial < 2**16 > session.sid
            database.forget(session)
    finally:
        database.close()
