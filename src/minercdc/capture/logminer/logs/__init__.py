"""Which redo logs are read, the proof that none is missing, and the database in which they are mined."""
