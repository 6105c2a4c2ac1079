"""Lake tables in the format Iceberg."""
