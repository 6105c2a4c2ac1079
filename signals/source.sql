-- Channel source: rows of the signal table (signal.data.collection: ORCLPDB1.C##MINERCDC.DEBEZIUM_SIGNAL), by any Oracle client.
-- Ids must differ; each is what the answers carry.

-- Read a table again while streaming goes on.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-incremental', 'execute-snapshot',
  '{"data-collections": ["ORCLPDB1.SHOP.ORDERS"], "type": "incremental"}');

-- Some of its rows, in order of another column.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-some', 'execute-snapshot',
  '{"data-collections": ["ORCLPDB1.SHOP.ORD.*"], "surrogate-key": "CUSTOMER_ID", "additional-conditions": [{"data-collection": "ORCLPDB1.SHOP.ORDERS", "filter": "STATUS = ''OPEN''"}]}');

-- Wait, go on, end it.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-pause', 'pause-snapshot', '{}');
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-resume', 'resume-snapshot', '{}');
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-stop', 'stop-snapshot',
  '{"data-collections": ["ORCLPDB1.SHOP.ORDERS"], "type": "incremental"}');

-- Read a table while streaming waits.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-blocking', 'execute-snapshot',
  '{"data-collections": ["ORCLPDB1.SHOP.ORDERS"], "type": "blocking", "additional-conditions": [{"data-collection": "ORCLPDB1.SHOP.ORDERS", "filter": "SELECT * FROM SHOP.ORDERS WHERE STATUS = ''OPEN''"}]}');

-- A line in the log; {} becomes the position.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-log', 'log', '{"message": "Signal message at offset {}"}');

-- Another shape for a table, by hand.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-schema', 'schema-changes',
  '{"database": "ORCLPDB1", "schema": "SHOP", "changes": [{"type": "ALTER", "id": "\"ORCLPDB1\".\"SHOP\".\"ORDERS\"", "table": {"primaryKeyColumnNames": ["ORDER_ID"], "columns": [{"name": "ORDER_ID", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": false}, {"name": "CUSTOMER_ID", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": false}, {"name": "STATUS", "typeName": "VARCHAR2", "length": 10, "optional": true}]}}]}');

-- A table that was suspended is read again, with its deletes; refused when it is not suspended.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-suspended', 'resume-table', '{"data-collections": ["ORCLPDB1.SHOP.ORDERS"]}');

-- Which transactions are open, and giving one up: its changes are lost.
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-list', 'list-transactions', NULL);
INSERT INTO C##MINERCDC.DEBEZIUM_SIGNAL VALUES ('sql-drop', 'drop-transaction', '{"transaction-id": "02000a00b2040000"}');
COMMIT;
