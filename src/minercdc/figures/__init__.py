"""Figures that a running connector or lake keeps: where its time goes, who writes the redo, how long things take, and the like.

They are taken per batch, pass, commit or look, never per row. One thread at a time writes each; any thread may read them.
"""
