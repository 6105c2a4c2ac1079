"""Delta tables that the driver's own process reads and writes, with no Spark job; `delta.py` leaves to Spark what needs more."""
