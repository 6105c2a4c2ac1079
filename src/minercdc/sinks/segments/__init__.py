"""Durable append-only files in place of Kafka, and what reads them."""
