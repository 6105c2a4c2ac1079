"""Tests over Spark Connect: ``-p tests.connect``, with a server that the run starts (`make test-all PART=connect`)."""

from __future__ import annotations

import os

os.environ["MINERCDC_SPARK_CONNECT"] = "1"
