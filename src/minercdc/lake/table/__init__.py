"""The lake's Delta tables: their columns and types, Delta's features, and the lake's own record."""
