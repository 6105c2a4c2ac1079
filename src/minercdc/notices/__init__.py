"""Where notifications go beside their topic, and those about the stream itself: lag, long transactions, redo that runs out."""
