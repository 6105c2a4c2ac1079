"""Syntax trees: expressions, queries and DML. `at` is the 0-based offset in the statement."""

# Nodes are named `ast.Query`, whichever of the modules has them.
from minercdc_sandbox.sql.ast.changes import *  # noqa: F403
from minercdc_sandbox.sql.ast.leaves import *  # noqa: F403
from minercdc_sandbox.sql.ast.trees import *  # noqa: F403
