"""Parses Oracle DDL, and applies it to table shapes."""
