"""`minercdc qualify`: runs a scripted history in a database, captures it, and compares row by row. `runner.py` begins it."""
