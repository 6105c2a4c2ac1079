"""minercdc: change data capture from Oracle into Kafka and lake tables."""

__version__ = "0.1.0"
