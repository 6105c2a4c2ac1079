"""What flows through a pipeline and what is stored of it: events, rows, offsets, counters, and the interfaces of its parts."""
