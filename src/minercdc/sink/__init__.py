"""Sinks without Kafka, which write durable segments or JSON lines, and what reads segments; `opening` opens the configured
sink."""
