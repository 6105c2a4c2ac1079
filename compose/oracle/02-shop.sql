-- A small order-entry schema in the pluggable database, to have something to capture.
WHENEVER SQLERROR EXIT FAILURE
ALTER SESSION SET CONTAINER = FREEPDB1;
CREATE USER shop IDENTIFIED BY shop QUOTA UNLIMITED ON users;
GRANT CREATE SESSION, CREATE TABLE TO shop;
CREATE TABLE shop.customers (
  customer_id  NUMBER(10)    NOT NULL,
  email        VARCHAR2(120) NOT NULL,
  credit_limit NUMBER(12,2),
  CONSTRAINT customers_pk PRIMARY KEY (customer_id)
);
CREATE TABLE shop.orders (
  order_id     NUMBER(18)    NOT NULL,
  customer_id  NUMBER(10)    NOT NULL,
  status       VARCHAR2(10)  DEFAULT 'NEW' NOT NULL,
  placed       TIMESTAMP(6)  NOT NULL,
  CONSTRAINT orders_pk PRIMARY KEY (order_id)
);
ALTER TABLE shop.customers ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
ALTER TABLE shop.orders ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
INSERT INTO shop.customers VALUES (1, 'first@example.com', 100.00);
INSERT INTO shop.orders VALUES (1, 1, 'NEW', TIMESTAMP '2026-11-20 09:15:00');
COMMIT;
