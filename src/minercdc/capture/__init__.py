"""Adapters that read committed changes from Oracle."""
