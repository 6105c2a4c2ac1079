"""The adapter `flashback`: changes from row versions (VERSIONS BETWEEN SCN). SELECT and FLASHBACK on the tables are enough,
no redo is read."""
