"""Where records, offset and schema history go: Kafka, segments or JSON lines."""
