"""Reads rows of tables as of an SCN: before streaming begins, or among its events."""
