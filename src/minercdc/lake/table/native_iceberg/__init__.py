"""Iceberg tables that the driver's own process reads and writes, with no Spark job; `iceberg/tables.py` leaves to Spark what needs more."""
