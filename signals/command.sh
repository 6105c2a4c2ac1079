#!/bin/sh
# The same by `minercdc signal`, over the first enabled channel of the configuration or the one of --channel.
set -e
config=${1:-connectors/http.yaml}

minercdc signal "$config" execute-snapshot --id command-incremental --collection ORCLPDB1.SHOP.ORDERS
minercdc signal "$config" execute-snapshot --id command-some --collection 'ORCLPDB1.SHOP.ORD.*' --surrogate-key CUSTOMER_ID \
  --condition "ORCLPDB1.SHOP.ORDERS=STATUS = 'OPEN'"
minercdc signal "$config" pause-snapshot --id command-pause
minercdc signal "$config" resume-snapshot --id command-resume
minercdc signal "$config" stop-snapshot --id command-stop --collection ORCLPDB1.SHOP.ORDERS
minercdc signal "$config" execute-snapshot --id command-blocking --type blocking --collection ORCLPDB1.SHOP.ORDERS \
  --condition "ORCLPDB1.SHOP.ORDERS=SELECT * FROM SHOP.ORDERS WHERE STATUS = 'OPEN'"
minercdc signal "$config" log --id command-log "Signal message at offset {}"
minercdc signal "$config" schema-changes --id command-schema "$(dirname "$0")/orders.json"
minercdc signal "$config" resume-table --id command-suspended --collection ORCLPDB1.SHOP.ORDERS
minercdc signal "$config" list-transactions --id command-list
minercdc signal "$config" drop-transaction --id command-drop 02000a00b2040000
