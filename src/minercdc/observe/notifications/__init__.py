"""Sends notifications to channels other than their topic, and makes those about the stream: lag, long transactions, redo that runs out, restarts."""
