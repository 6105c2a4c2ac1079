"""Holds table shapes and what DDL does to them, and decides by names which tables are captured."""
