"""Debezium-named properties in, typed sections out."""
