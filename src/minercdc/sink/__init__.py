"""Sinks without Kafka: durable segments, and JSON lines."""
