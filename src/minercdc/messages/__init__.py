"""Turns events into records: Debezium's envelopes, the names of topics, transformations and wire formats."""
