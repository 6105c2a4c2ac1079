"""The captured tables as DDL in redo changes them: shapes, partitions, indexes, and rows that DDL takes away."""
