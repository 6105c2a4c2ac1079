"""Queries to SQLite."""
