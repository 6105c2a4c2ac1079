"""The fixture that the product's tests use, too: the sandbox in a process of its own."""

from hypothesis import settings

pytest_plugins = ["tests.fixtures.fix_sandbox"]

settings.register_profile("minercdc", deadline=None)  # a busy machine decides no test; pytest's timeout ends one that hangs
settings.load_profile("minercdc")
