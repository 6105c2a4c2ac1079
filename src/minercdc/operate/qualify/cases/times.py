"""Types of times and intervals."""

from __future__ import annotations

from minercdc.operate.qualify.case import of_type

CASES = (
    of_type(
        "DATE",
        "DATE",
        [
            "DATE '2026-02-28'",
            "DATE '-4712-01-01'",
            "TO_DATE('9999-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS')",
            "DATE '1582-10-15'",
        ],
    ),
    of_type(
        "TIMESTAMP(6)",
        "TIMESTAMP(6)",
        [
            "TIMESTAMP '2026-02-28 23:59:59.999999'",
            "TIMESTAMP '0001-01-01 00:00:00'",
            "TIMESTAMP '9999-12-31 23:59:59.000001'",
        ],
    ),
    of_type(
        "TIMESTAMP(9)",
        "TIMESTAMP(9)",
        [
            "TIMESTAMP '2026-02-28 23:59:59.999999999'",
            "TIMESTAMP '1677-09-22 00:00:00'",
            "TIMESTAMP '2262-01-01 00:00:00.000000001'",
        ],
    ),
    of_type("TIMESTAMP(0)", "TIMESTAMP(0)", ["TIMESTAMP '2026-02-28 23:59:59'", "TIMESTAMP '1582-10-04 00:00:01'"]),
    of_type(
        "TIMESTAMP WITH TIME ZONE, offsets",
        "TIMESTAMP(6) WITH TIME ZONE",
        [
            "TIMESTAMP '2024-01-02 03:04:05.123456 +05:30'",
            "TIMESTAMP '2024-01-02 03:04:05 -09:30'",
            "TIMESTAMP '0001-01-02 00:00:00 +14:00'",
        ],
    ),
    of_type(
        "TIMESTAMP WITH TIME ZONE, regions",
        "TIMESTAMP(6) WITH TIME ZONE",
        ["TIMESTAMP '2024-07-01 12:00:00 Europe/Berlin'", "TIMESTAMP '2024-01-01 12:00:00.5 America/New_York'"],
    ),
    of_type(
        "TIMESTAMP WITH LOCAL TIME ZONE",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        [
            "TIMESTAMP '2024-01-02 03:04:05.123456 +05:30'",
            "TIMESTAMP '2024-10-27 02:30:00 +01:00'",
            "TIMESTAMP '2000-02-29 00:00:00 +00:00'",
        ],
    ),
    of_type(
        "INTERVAL YEAR TO MONTH",
        "INTERVAL YEAR(4) TO MONTH",
        ["INTERVAL '1-2' YEAR TO MONTH", "-INTERVAL '9999-11' YEAR(4) TO MONTH", "INTERVAL '0' MONTH"],
    ),
    of_type(
        "INTERVAL DAY TO SECOND",
        "INTERVAL DAY(5) TO SECOND(6)",
        [
            "INTERVAL '1 02:03:04.5' DAY TO SECOND",
            "-INTERVAL '99999 23:59:59.999999' DAY(5) TO SECOND(6)",
            "INTERVAL '0' SECOND",
        ],
    ),
)
