"""Sinks of records, offset and schema history: Kafka, segments or JSON lines."""
