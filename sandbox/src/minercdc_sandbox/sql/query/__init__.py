"""Translation of queries to SQLite, in layers: relations, joins, pivots, blocks, whole queries (`select.Queries`)."""
