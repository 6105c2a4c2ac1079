"""Types of numbers."""

from __future__ import annotations

from minercdc.operate.qualify.case import of_type

CASES = (
    of_type(
        "NUMBER without precision",
        "NUMBER",
        ["0", "-1.5", "123456789012345678901234567890123456789", "1E-130", "9.99E125", "-1E-40", "100"],
    ),
    of_type("NUMBER(9)", "NUMBER(9)", ["0", "-999999999", "999999999"]),
    of_type("NUMBER(18) and NUMBER(38)", "NUMBER(38)", ["1", "-" + "9" * 38, "9" * 38, "999999999999999999"]),
    of_type("NUMBER(12,3)", "NUMBER(12,3)", ["0.001", "-999999999.999", "42", "0.5"]),
    of_type("NUMBER(5,-2)", "NUMBER(5,-2)", ["1234567", "-49", "50"]),
    of_type("FLOAT", "FLOAT(24)", ["0.1", "-123456789", "3.14159265358979", "1E100"]),
    of_type("BINARY_FLOAT", "BINARY_FLOAT", ["1.5F", "-3.4E38F", "BINARY_FLOAT_NAN", "-1/0F", "1E-45F", "0F"]),
    of_type("BINARY_DOUBLE", "BINARY_DOUBLE", ["2.5D", "-1.7976931348623157E308D", "BINARY_DOUBLE_NAN", "1/0D", "0.1D"]),
)
