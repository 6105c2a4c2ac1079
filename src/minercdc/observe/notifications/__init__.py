"""Where notifications go beside their topic, and those about the stream: lag, long transactions, redo that runs out, restarts."""
