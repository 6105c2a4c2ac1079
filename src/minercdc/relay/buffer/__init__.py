"""The relay's circular buffer of windows, and what fills it."""
