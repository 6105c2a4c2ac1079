"""The properties that every configuration needs."""

from __future__ import annotations

PROPERTIES = {
    "name": "n",
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "minercdc.kafka.bootstrap.servers": "b:1",
}
SEVERAL = PROPERTIES | {"database.pdb.name": "SALES, STOCK"}
