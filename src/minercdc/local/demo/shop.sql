-- An order-entry schema in the pluggable database ORCLPDB1 of the sandbox.
CONNECT system/oracle@ORCLCDB
ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;

CONNECT system/oracle@ORCLPDB1
CREATE USER shop IDENTIFIED BY shop QUOTA UNLIMITED ON users;
GRANT CREATE SESSION, CREATE TABLE TO shop;

CONNECT shop/shop@ORCLPDB1

CREATE TABLE customers (
  customer_id  NUMBER(10)         NOT NULL,
  email        VARCHAR2(120)      NOT NULL,
  full_name    VARCHAR2(80),
  country      CHAR(2)            DEFAULT 'DE',
  credit_limit NUMBER(12,2),
  since        DATE               DEFAULT SYSDATE NOT NULL,
  CONSTRAINT customers_pk PRIMARY KEY (customer_id),
  CONSTRAINT customers_email_uk UNIQUE (email)
);

CREATE TABLE products (
  sku          VARCHAR2(20)       NOT NULL,
  title        VARCHAR2(200)      NOT NULL,
  price        NUMBER(10,2)       NOT NULL,
  weight       NUMBER,
  fingerprint  RAW(16),
  CONSTRAINT products_pk PRIMARY KEY (sku)
);

CREATE TABLE orders (
  order_id     NUMBER(18)         NOT NULL,
  customer_id  NUMBER(10)         NOT NULL,
  status       VARCHAR2(10)       DEFAULT 'NEW' NOT NULL,
  note         VARCHAR2(400),
  placed       TIMESTAMP(6)       NOT NULL,
  shipped      TIMESTAMP(3),
  CONSTRAINT orders_pk PRIMARY KEY (order_id)
);

CREATE TABLE order_lines (
  order_id     NUMBER(18)         NOT NULL,
  line_no      NUMBER(4)          NOT NULL,
  sku          VARCHAR2(20)       NOT NULL,
  quantity     NUMBER(9)          NOT NULL,
  amount       NUMBER(14,4),
  CONSTRAINT order_lines_pk PRIMARY KEY (order_id, line_no)
);

CREATE TABLE inventory (
  sku          VARCHAR2(20)       NOT NULL,
  warehouse    NUMBER(2)          NOT NULL,
  on_hand      NUMBER(9)          NOT NULL,
  counted      TIMESTAMP(9),
  CONSTRAINT inventory_pk PRIMARY KEY (sku, warehouse)
);

CREATE TABLE visits (
  happened     TIMESTAMP(9)       NOT NULL,
  page         VARCHAR2(200),
  milliseconds NUMBER(6,1)
);

ALTER TABLE customers   ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
ALTER TABLE products    ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
ALTER TABLE orders      ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
ALTER TABLE order_lines ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
ALTER TABLE inventory   ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
ALTER TABLE visits      ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;
