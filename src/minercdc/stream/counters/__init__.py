"""Counters of a running connector or lake."""
