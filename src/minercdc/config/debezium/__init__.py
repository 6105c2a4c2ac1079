"""Spellings and properties of Debezium, Kafka Connect and Kafka's Java clients."""
