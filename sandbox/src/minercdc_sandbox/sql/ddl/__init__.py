"""DDL on tables and indexes."""
