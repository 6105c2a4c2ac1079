#!/bin/sh
# Channel http (minercdc.http.port: 8089), with minercdc.http.token or the token that the connector keeps in its state directory. What the connector is doing: curl http://127.0.0.1:8089/snapshots, /notifications, /health
set -e
url=http://${MINERCDC_HTTP:-127.0.0.1:8089}/signals
token=${MINERCDC_HTTP_TOKEN:-$(cat "${MINERCDC_STATE_DIR:-.minercdc}/http-token-shop")}
send() { curl --silent --show-error --fail-with-body --header "Content-Type: application/json" --header "Authorization: Bearer $token" --data-binary @- "$url"; echo; }

send <<'END'
{"id": "http-incremental", "type": "execute-snapshot", "data": {"data-collections": ["ORCLPDB1.SHOP.ORDERS"], "type": "incremental"}}
END
send <<'END'
{"id": "http-some", "type": "execute-snapshot", "data": {"data-collections": ["ORCLPDB1.SHOP.ORD.*"], "surrogate-key": "CUSTOMER_ID", "additional-conditions": [{"data-collection": "ORCLPDB1.SHOP.ORDERS", "filter": "STATUS = 'OPEN'"}]}}
END
send <<'END'
{"id": "http-pause", "type": "pause-snapshot", "data": {}}
END
send <<'END'
{"id": "http-resume", "type": "resume-snapshot", "data": {}}
END
send <<'END'
{"id": "http-stop", "type": "stop-snapshot", "data": {"data-collections": ["ORCLPDB1.SHOP.ORDERS"], "type": "incremental"}}
END
send <<'END'
{"id": "http-blocking", "type": "execute-snapshot", "data": {"data-collections": ["ORCLPDB1.SHOP.ORDERS"], "type": "blocking", "additional-conditions": [{"data-collection": "ORCLPDB1.SHOP.ORDERS", "filter": "SELECT * FROM SHOP.ORDERS WHERE STATUS = 'OPEN'"}]}}
END
send <<'END'
{"id": "http-log", "type": "log", "data": {"message": "Signal message at offset {}"}}
END
send <<'END'
{"id": "http-schema", "type": "schema-changes", "data": {"database": "ORCLPDB1", "schema": "SHOP", "changes": [{"type": "ALTER", "id": "\"ORCLPDB1\".\"SHOP\".\"ORDERS\"", "table": {"primaryKeyColumnNames": ["ORDER_ID"], "columns": [{"name": "ORDER_ID", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": false}, {"name": "CUSTOMER_ID", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": false}, {"name": "STATUS", "typeName": "VARCHAR2", "length": 10, "optional": true}]}}]}}
END
send <<'END'
{"id": "http-suspended", "type": "resume-table", "data": {"data-collections": ["ORCLPDB1.SHOP.ORDERS"]}}
END
send <<'END'
{"id": "http-list", "type": "list-transactions", "data": {}}
END
send <<'END'
{"id": "http-drop", "type": "drop-transaction", "data": {"transaction-id": "02000a00b2040000"}}
END
