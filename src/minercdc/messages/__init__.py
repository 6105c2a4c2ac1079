"""From events to records: Debezium's envelopes, the names of topics, transformations and wire formats."""
