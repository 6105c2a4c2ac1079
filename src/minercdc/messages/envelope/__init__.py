"""Prints rows as Debezium's envelopes, with or without Kafka Connect's schemas."""
