"""Reads the data dictionary: tables, columns, keys, object ids, and what depends on a table."""
