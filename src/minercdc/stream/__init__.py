"""The data of a pipeline and its stored state: events, rows, offsets, counters, and the interfaces of its parts."""
