"""The initial snapshot: locks, structures, ranges of rows, and the hand-over to the stream."""
