"""Figures that a running connector keeps about its own work: where its time goes, who writes the redo, how long things take.

They are taken per batch, pass or commit, never per row. One thread writes them; any thread may read them.
"""
