"""Stored offsets: read, moved to another place, handed over, imported from Debezium."""
