"""The fixture that the product's tests use, too: the sandbox in a process of its own."""

pytest_plugins = ["tests.fixtures.fix_sandbox"]
