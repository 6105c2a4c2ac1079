"""Statements that are neither queries nor DML."""
