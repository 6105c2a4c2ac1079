"""Statements of the forms that Oracle's sample schemas have: HR, CO, SH, OE.

The forms are those of the scripts in github.com/oracle-samples/db-sample-schemas; tables and rows are shorter ones of our own. `made`
is there before the snapshot, `changed` after it. What those scripts have beside is in `REFUSED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LOGGED = "alter table {} add supplemental log data (all) columns"
_JSON = '{"colour":"brown","sizes":[0,2,4],"reviews":[{"rating":7,"review":"Womens"}]}'


@dataclass(frozen=True)
class Sample:
    """One schema. `tables`: those that the scripts make, upper case."""

    tables: Sequence[str]
    made: Sequence[str]
    changed: Sequence[str]


HR = Sample(
    ("REGIONS", "COUNTRIES", "DEPARTMENTS", "EMPLOYEES", "JOB_HISTORY"),
    (
        "create table regions (region_id number constraint region_id_nn not null, region_name varchar2(25))",
        "create unique index reg_id_pk on regions (region_id)",
        "alter table regions add ( constraint reg_id_pk primary key (region_id) )",
        "create table countries (country_id char(2) constraint country_id_nn not null, country_name varchar2(60), region_id number,"
        " constraint country_c_id_pk primary key (country_id)) organization index",
        "alter table countries add ( constraint countr_reg_fk foreign key (region_id) references regions(region_id) )",
        "create table departments (department_id number(4), department_name varchar2(30) constraint dept_name_nn not null,"
        " manager_id number(6))",
        "create unique index dept_id_pk on departments (department_id)",
        "alter table departments add ( constraint dept_id_pk primary key (department_id) )",
        "create sequence departments_seq start with 280 increment by 10 maxvalue 9990 nocache nocycle",
        "create table employees (employee_id number(6), first_name varchar2(20), email varchar2(25) constraint emp_email_nn not null,"
        " hire_date date constraint emp_hire_date_nn not null, job_id varchar2(10), salary number(8,2), commission_pct number(2,2),"
        " manager_id number(6), department_id number(4), constraint emp_salary_min check (salary > 0),"
        " constraint emp_email_uk unique (email))",
        "create unique index emp_emp_id_pk on employees (employee_id)",
        "alter table employees add ( constraint emp_emp_id_pk primary key (employee_id),"
        " constraint emp_dept_fk foreign key (department_id) references departments,"
        " constraint emp_manager_fk foreign key (manager_id) references employees )",
        "alter table departments add ( constraint dept_mgr_fk foreign key (manager_id) references employees (employee_id) )",
        "create table job_history (employee_id number(6) constraint jhist_employee_nn not null, start_date date constraint jhist_start_nn not null,"
        " end_date date, job_id varchar2(10), department_id number(4), constraint jhist_date_interval check (end_date > start_date))",
        "create unique index jhist_pk on job_history (employee_id, start_date)",
        "alter table job_history add ( constraint jhist_pk primary key (employee_id, start_date),"
        " constraint jhist_emp_fk foreign key (employee_id) references employees )",
        "create or replace view emp_details_view (employee_id, department_name) as select e.employee_id, d.department_name"
        " from employees e, departments d where e.department_id = d.department_id with read only",
        "comment on column employees.salary is 'Monthly salary; greater than zero'",
        "create or replace procedure secure_dml is begin if to_char (sysdate, 'HH24:MI') not between '08:00' and '18:00' then"
        " raise_application_error (-20205, 'only during office hours'); end if; end secure_dml;",
        "create or replace trigger secure_employees before insert or update or delete on employees begin secure_dml; end secure_employees;",
        "alter trigger secure_employees disable",
        "create or replace procedure add_job_history (p_emp_id job_history.employee_id%type, p_start_date job_history.start_date%type,"
        " p_end_date job_history.end_date%type, p_job_id job_history.job_id%type, p_department_id job_history.department_id%type)"
        " is begin insert into job_history (employee_id, start_date, end_date, job_id, department_id)"
        " values (p_emp_id, p_start_date, p_end_date, p_job_id, p_department_id); end add_job_history;",
        "create or replace trigger update_job_history after update of job_id, department_id on employees for each row"
        " begin add_job_history(:old.employee_id, :old.hire_date, sysdate, :old.job_id, :old.department_id); end;",
        "alter session set nls_language=American",
        "begin insert into regions values ( 10, 'Europe' ); insert into regions values ( 20, 'Asia' ); end;",
        "alter table departments disable constraint dept_mgr_fk",
        "insert into departments values (10, 'Administration', 100)",
        "begin insert into employees values ( 100, 'Ada', 'ADA', to_date('17-06-2013', 'dd-MM-yyyy'), 'AD_PRES', 24000, null, null, 10 );"
        " insert into employees values ( 101, 'Bo', 'BO', to_date('21-09-2015', 'dd-MM-yyyy'), 'AD_VP', 17000, .25, 100, 10 ); end;",
        "alter table departments enable constraint dept_mgr_fk",
    ),
    (
        "insert into countries values ('IT', 'Italy', 10)",
        "insert into countries values ('JP', 'Japan', 20)",
        "update countries set country_name = 'Italia' where country_id = 'IT'",
        "delete from countries where country_id = 'JP'",
        "insert into departments values (departments_seq.nextval, 'Marketing', null)",
        "update employees set department_id = 280, job_id = 'MK_MAN' where employee_id = 101",
        "update employees set salary = salary * 1.1",
    ),
)
"""An index-organized table, which the sandbox keeps as a heap; keys on indexes that are there; triggers that write another table."""

CO = Sample(
    ("CUSTOMERS", "PRODUCTS", "ORDERS", "ORDER_ITEMS"),
    (
        "create table customers (customer_id integer generated by default on null as identity, email_address varchar2(255 char) not null)",
        "create table products (product_id integer generated by default on null as identity, product_name varchar2(255 char) not null,"
        " unit_price number(10,2), product_details blob, image_last_updated date)",
        "create table orders (order_id integer generated by default on null as identity, order_tms timestamp not null,"
        " customer_id integer not null, order_status varchar2(10 char) not null)",
        "create table order_items (order_id integer not null, line_item_id integer not null, product_id integer not null,"
        " quantity integer not null)",
        "create or replace view order_products as select o.order_id, sum ( oi.quantity * p.unit_price ) order_total,"
        " listagg ( p.product_name, ', ' on overflow truncate '...' with count ) within group ( order by oi.line_item_id ) items"
        " from orders o join order_items oi on o.order_id = oi.order_id join products p on oi.product_id = p.product_id"
        " group by o.order_id",
        "create index order_items_product_i on order_items ( product_id )",
        "alter table customers add constraint customers_pk primary key (customer_id)",
        "alter table customers add constraint customers_email_u unique (email_address)",
        "alter table products add constraint products_pk primary key (product_id)",
        "alter table products add constraint products_json_c check ( product_details is json )",
        "alter table orders add constraint orders_pk primary key (order_id)",
        "alter table orders add constraint orders_customer_id_fk foreign key (customer_id) references customers (customer_id)",
        "alter table orders add constraint orders_status_c check ( order_status in ( 'CANCELLED','COMPLETE','OPEN'))",
        "alter table order_items add constraint order_items_pk primary key ( order_id, line_item_id )",
        "begin insert into customers (customer_id,email_address) values (1,'ada@internalmail');"
        " insert into customers (customer_id,email_address) values (2,'bo@internalmail'); end;",
        "alter table customers modify customer_id generated by default on null as identity (start with limit value)",
    ),
    (
        "insert into products (product_id,product_name,unit_price,product_details)"
        f" values (9,'Women''s Jeans (Brown)',29.49,utl_raw.cast_to_raw( '{_JSON}'))",
        "insert into products (product_name,unit_price) values ('Socks',39.89)",
        "insert into customers (email_address) values ('cy@internalmail')",
        "insert into orders (order_id,order_tms,customer_id,order_status) values"
        " (1,to_timestamp('15-APR-23 12.36.09.000000000 PM','DD-MON-RR HH.MI.SSXFF AM'),1,'OPEN')",
        "insert into order_items values (1, 1, 9, 2)",
        "update orders set order_status = 'COMPLETE' where order_id = 1",
        "update products set product_details = utl_raw.cast_to_raw('{}') where product_id = 9",
    ),
)
"""Identity columns, JSON in a BLOB, LISTAGG that may be truncated."""

SH = Sample(
    ("TIMES", "SALES", "COSTS"),
    (
        "create table times ( time_id date not null, day_name varchar2(9) not null, constraint times_pk primary key (time_id) )",
        "create table sales ( prod_id number(6) not null, time_id date not null, amount_sold number(10,2) not null,"
        " constraint sales_time_fk foreign key (time_id) references times (time_id) ) partition by range (time_id)"
        " ( partition sales_2018 values less than (to_date('2019-01-01','YYYY-MM-DD','NLS_DATE_LANGUAGE = American')),"
        " partition sales_h1_2019 values less than (to_date('2019-07-01','YYYY-MM-DD','NLS_DATE_LANGUAGE = American')),"
        " partition sales_rest values less than (maxvalue) )",
        "create table costs ( prod_id number not null, time_id date not null, unit_cost number(10,2) not null )"
        " partition by range (time_id) ( partition costs_q1 values less than (to_date('2019-04-01','YYYY-MM-DD','NLS_CALENDAR=GREGORIAN')) compress,"
        " partition costs_q2 values less than (to_date('2019-07-01','YYYY-MM-DD','NLS_CALENDAR=GREGORIAN')) compress )",
        "create index sales_prod_ix on sales (prod_id) local",
        "insert into times values (date '2018-05-01', 'Tuesday')",
        "insert into times values (date '2019-05-01', 'Wednesday')",
        "insert into sales values (1, date '2018-05-01', 9.5)",
    ),
    (
        "insert into sales values (2, date '2019-05-01', 1.25)",
        "insert into costs values (1, to_date('2019-01-02','YYYY-MM-DD'), 3)",
        "update sales set amount_sold = 10 where prod_id = 1",
        "delete from costs",
        "insert into costs select prod_id, time_id, amount_sold / 2 from sales where time_id >= date '2019-01-01'",
    ),
)
"""Partitions by date, tables without a key."""

OE = Sample(
    ("PRODUCT_INFORMATION", "PRODUCT_DESCRIPTIONS", "WAREHOUSES", "INVENTORIES", "ORDERS", "ORDER_ITEMS"),
    (
        "create table product_information ( product_id number(6), product_name varchar2(50), warranty_period interval year to month,"
        " product_status varchar2(20), list_price number(8,2), constraint product_status_lov check (product_status in ('orderable','obsolete')) )",
        "alter table product_information add ( constraint product_information_pk primary key (product_id) )",
        "create table product_descriptions ( product_id number(6), language_id varchar2(3),"
        " translated_name nvarchar2(50) constraint translated_name_nn not null )",
        "create unique index prd_desc_pk on product_descriptions(product_id,language_id)",
        "alter table product_descriptions add ( constraint product_descriptions_pk primary key (product_id, language_id))",
        "create table warehouses ( warehouse_id number(3), warehouse_spec sys.xmltype, warehouse_name varchar2(35) )",
        "create unique index warehouses_pk on warehouses (warehouse_id)",
        "alter table warehouses add (constraint warehouses_pk primary key (warehouse_id) )",
        "create table inventories ( product_id number(6), warehouse_id number(3) constraint inventory_warehouse_id_nn not null,"
        " quantity_on_hand number(8), constraint inventory_pk primary key (product_id, warehouse_id) disable novalidate )",
        "alter table inventories enable constraint inventory_pk",
        "create table orders ( order_id number(12), order_date timestamp with local time zone constraint order_date_nn not null,"
        " order_mode varchar2(8), constraint order_mode_lov check (order_mode in ('direct','online')) )",
        "alter table orders add ( constraint order_pk primary key (order_id) )",
        "create table order_items ( order_id number(12), line_item_id number(3) not null, product_id number(6) not null )",
        "alter table order_items add ( constraint order_items_pk primary key (order_id, line_item_id) )",
        "create or replace trigger insert_ord_line before insert on order_items for each row declare new_line number; begin"
        " select (nvl(max(line_item_id),0)+1) into new_line from order_items where order_id = :new.order_id;"
        " :new.line_item_id := new_line; end;",
        "alter table order_items add ( constraint order_items_order_id_fk foreign key (order_id) references orders(order_id)"
        " on delete cascade enable novalidate )",
        "create or replace view products as select i.product_id, d.language_id, case when d.language_id is not null then d.translated_name"
        " else translate(i.product_name using nchar_cs) end as product_name from product_information i, product_descriptions d"
        " where d.product_id (+) = i.product_id and d.language_id (+) = sys_context('USERENV','LANG')",
        "insert into product_information values (1726, 'LCD Monitor', to_yminterval('+01-06'), 'orderable', 259)",
        "insert into orders values (2458, to_timestamp_tz('2007-08-16 15:34:12 UTC', 'YYYY-MM-DD HH24:MI:SS TZR'), 'direct')",
    ),
    (
        "insert into product_descriptions values (1726, 'D', unistr('LCD-Monitor \\00FC'))",
        "insert into warehouses values (1, xmltype('<?xml version=\"1.0\"?><Warehouse><Building>Owned</Building></Warehouse>'), 'Southlake')",
        "insert into inventories values (1726, 1, 5)",
        "insert into orders values (2459, timestamp '2007-08-17 00:00:00.5', 'online')",
        "insert into order_items values (2459, 1, 1726)",
        "insert into order_items values (2458, 1, 1726)",
        "insert into order_items values (2458, 1, 1727)",
        "update product_information set warranty_period = interval '2' year, list_price = null",
        "delete from orders where order_id = 2458",
    ),
)
"""Intervals, national text, XML, a disabled key, a trigger that reads its own table, ON DELETE CASCADE."""

SAMPLES = {"hr": HR, "co": CO, "sh": SH, "oe": OE}

REFUSED = (
    "create type cust_address_typ as object ( street_address varchar2(40), country_id char(2) )",
    "create type phone_list_typ as varray(5) of varchar2(25)",
    "create table customers (customer_id number(6), cust_geo_location mdsys.sdo_geometry)",
    "create bitmap index sales_channel_bix on regions (region_name)",
    "create materialized view cal_month_sales_mv as select region_id from regions",
    "create dimension times_dim level day is regions.region_id",
)
"""ORA-03001 in the sandbox."""
