"""Expressions and conditions to SQLite."""
