#!/bin/bash
# Says on the container's log how to connect; the image runs this at every start.
echo "connect: user shop, password shop, localhost:${ORACLE_PORT:-1521}/FREEPDB1"
echo "capture: user C##MINERCDC, the password of MINERCDC_PASSWORD (minercdc), services FREE and FREEPDB1"
