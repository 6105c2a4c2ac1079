"""Syntax trees of expressions, queries and DML. `at` is the 0-based offset in the statement of what the node stands for. Names
are as the dictionary has them: upper case unless quoted."""

from minercdc_sandbox.sql.ast.changes import *  # noqa: F403
from minercdc_sandbox.sql.ast.leaves import *  # noqa: F403
from minercdc_sandbox.sql.ast.trees import *  # noqa: F403
from minercdc_sandbox.sql.ast.walk import *  # noqa: F403
