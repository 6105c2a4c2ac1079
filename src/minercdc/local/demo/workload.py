"""Concurrent sessions that use the order-entry schema as an application would, with rollbacks.

Each session draws from its own seeded generator, so it does the same things in each run, perhaps more of them.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal

import oracledb

Connect = Callable[[], oracledb.Connection]

PRODUCTS = 200
WAREHOUSES = 3
CUSTOMERS = 1000
_EPOCH = datetime(2024, 1, 1)
_WORDS = ("bolt", "nut", "gear", "O'Ring", "Schraube", "écrou", "ネジ", 'inch "x"', "a\\b", "cam; drop", "--", "😀")


def load_initial_rows(connection: oracledb.Connection) -> int:
    """Insert and commit the rows that are there before the connector starts; returns their number. Raises oracledb.Error."""
    chance = random.Random(1)
    customers = [
        (
            i,
            f"user{i}@example.com",
            f"{chance.choice(_WORDS)} {i}",
            chance.choice(("DE", "FR", "JP")),
            Decimal(chance.randrange(10**6)) / 100,
        )
        for i in range(1, CUSTOMERS + 1)
    ]
    products = [
        (
            f"SKU-{i:05d}",
            f"{chance.choice(_WORDS)} no. {i}",
            Decimal(chance.randrange(1, 10**6)) / 100,
            _weight(chance),
            chance.randbytes(16),
        )
        for i in range(PRODUCTS)
    ]
    stock = [
        (f"SKU-{i:05d}", w, chance.randrange(1000), _moment(chance)) for i in range(PRODUCTS) for w in range(WAREHOUSES)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO customers (customer_id, email, full_name, country, credit_limit) VALUES (:1, :2, :3, :4, :5)",
            customers,
        )
        cursor.executemany(
            "INSERT INTO products (sku, title, price, weight, fingerprint) VALUES (:1, :2, :3, :4, :5)", products
        )
        cursor.executemany("INSERT INTO inventory (sku, warehouse, on_hand, counted) VALUES (:1, :2, :3, :4)", stock)
    connection.commit()
    return len(customers) + len(products) + len(stock)


def _weight(chance: random.Random) -> Decimal | None:
    """A number of any size for a NUMBER without precision; None, for NULL, one time in ten."""
    return None if chance.random() < 0.1 else Decimal(chance.randrange(1, 10**12)).scaleb(chance.randrange(-30, 10))


def _moment(chance: random.Random) -> datetime:
    return _EPOCH + timedelta(microseconds=chance.randrange(10**14))


class Workload:
    """Runs sessions until stopped, each with `pause` seconds between two transactions on average.

    :ivar done: what was done -> how often; a transaction that was rolled back counts as `rollbacks` only.
    """

    def __init__(self, connect: Connect, sessions: int, pause: float) -> None:
        self._connect = connect
        self._sessions = sessions
        self._pause = pause
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(sessions, thread_name_prefix="session")
        self._running: list[Future[None]] = []
        self.done: Counter[str] = Counter()

    def start(self) -> None:
        """Start the sessions, each in a thread with a connection of its own; called once."""
        self._running = [self._pool.submit(self._session, number) for number in range(1, self._sessions + 1)]

    def stop(self) -> None:
        """End the sessions after their present transactions, and wait for them; raises what the first failed one raised."""
        self._stop.set()
        try:
            for session in self._running:
                session.result()
        finally:
            self._pool.shutdown()

    def check(self) -> None:
        """Raise the exception that a session has ended with, if one has."""
        for session in self._running:
            if session.done():
                session.result()

    def _session(self, number: int) -> None:
        with self._connect() as connection:
            shopper = Shopper(connection, number)
            while not self._stop.is_set():
                kinds = shopper.transaction()
                with self._lock:
                    self.done.update(kinds)
                time.sleep(self._pause * shopper.chance.random() * 2)


class Shopper:
    """Makes the transactions of one session, in one thread; it knows the orders and customers that it has created.

    :ivar chance: the session's generator, whose seed is its number.
    """

    def __init__(self, connection: oracledb.Connection, number: int) -> None:
        self.chance = random.Random(number)
        self._connection = connection
        self._number = number
        self._next_order = number * 10_000_000
        self._next_customer = number * 1_000_000
        self._orders: list[int] = []
        self._own_customers: list[int] = []

    def transaction(self) -> Counter[str]:
        """Run one transaction of a kind drawn by chance, to its commit or rollback; returns what it did -> how often, of a
        rollback only that it was one. Raises oracledb.Error."""
        kinds = [self._place_order, self._ship, self._cancel, self._restock, self._customer, self._renumber, self._visit]
        weights = [40, 15, 8, 10, 10, 5, 12]
        done: Counter[str] = Counter()
        with self._connection.cursor() as cursor:
            self.chance.choices(kinds, weights)[0](cursor, done)
        if self.chance.random() < 0.08:
            self._connection.rollback()
            self._forget_unfinished()
            return Counter(rollbacks=1)
        self._connection.commit()
        self._keep_unfinished()
        done["commits"] += 1
        return done

    # What a transaction creates is ours only once it is committed.
    _new_orders: tuple[int, ...] = ()
    _gone_orders: tuple[int, ...] = ()
    _new_customers: tuple[int, ...] = ()
    _gone_customers: tuple[int, ...] = ()

    def _forget_unfinished(self) -> None:
        self._new_orders = self._gone_orders = self._new_customers = self._gone_customers = ()

    def _keep_unfinished(self) -> None:
        self._orders = [order for order in self._orders if order not in self._gone_orders] + list(self._new_orders)
        self._own_customers = [c for c in self._own_customers if c not in self._gone_customers] + list(self._new_customers)
        self._forget_unfinished()

    def _sku(self) -> str:
        return f"SKU-{self.chance.randrange(PRODUCTS):05d}"

    def _place_order(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        self._next_order += 1
        order = self._next_order
        cursor.execute(
            "INSERT INTO orders (order_id, customer_id, note, placed) VALUES (:1, :2, :3, :4)",
            [order, self.chance.randrange(1, CUSTOMERS + 1), self._note(), _moment(self.chance)],
        )
        lines = [
            (order, line, self._sku(), self.chance.randrange(1, 20), self._amount())
            for line in range(1, self.chance.randrange(2, 7))
        ]
        cursor.executemany(
            "INSERT INTO order_lines (order_id, line_no, sku, quantity, amount) VALUES (:1, :2, :3, :4, :5)", lines
        )
        done["inserts"] += 1 + len(lines)
        if self.chance.random() < 0.3:  # a second thought
            cursor.execute("SAVEPOINT before_gift")
            cursor.execute(
                "INSERT INTO order_lines (order_id, line_no, sku, quantity) VALUES (:1, 99, :2, 1)", [order, self._sku()]
            )
            cursor.execute("UPDATE orders SET note = 'with a gift' WHERE order_id = :1", [order])
            cursor.execute("ROLLBACK TO SAVEPOINT before_gift")
            done["savepoint rollbacks"] += 1
        self._new_orders = (order,)

    def _note(self) -> str | None:
        return None if self.chance.random() < 0.3 else " ".join(self.chance.choices(_WORDS, k=self.chance.randrange(1, 12)))

    def _amount(self) -> Decimal | None:
        return None if self.chance.random() < 0.05 else Decimal(self.chance.randrange(-(10**9), 10**12)).scaleb(-4)

    def _ship(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        for order in self.chance.sample(self._orders, min(3, len(self._orders))):
            cursor.execute(
                "UPDATE orders SET status = 'SHIPPED', shipped = :1 WHERE order_id = :2", [_moment(self.chance), order]
            )
            done["updates"] += 1

    def _cancel(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        if self._orders:
            order = self.chance.choice(self._orders)
            cursor.execute("DELETE FROM order_lines WHERE order_id = :1", [order])
            done["deletes"] += cursor.rowcount + 1
            cursor.execute("DELETE FROM orders WHERE order_id = :1", [order])
            self._gone_orders = (order,)

    def _restock(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        for sku in sorted({self._sku() for _ in range(4)}):  # in one order in all sessions: they wait, but never deadlock
            cursor.execute(
                "UPDATE inventory SET on_hand = on_hand + :1, counted = :2 WHERE sku = :3",
                [self.chance.randrange(-5, 50), _moment(self.chance), sku],
            )
            done["updates"] += cursor.rowcount

    def _customer(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        if len(self._own_customers) > 5 and self.chance.random() < 0.4:
            customer = self._own_customers[0]
            cursor.execute("DELETE FROM customers WHERE customer_id = :1", [customer])
            self._gone_customers = (customer,)
            done["deletes"] += 1
            return
        self._next_customer += 1
        customer = self._next_customer
        cursor.execute(
            "INSERT INTO customers (customer_id, email, full_name, credit_limit) VALUES (:1, :2, :3, :4)",
            [customer, f"new{customer}@example.com", self.chance.choice(_WORDS), self._amount_2()],
        )
        self._new_customers = (customer,)
        done["inserts"] += 1

    def _amount_2(self) -> Decimal:
        return Decimal(self.chance.randrange(10**8)).scaleb(-2)

    def _renumber(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        """Change the primary key of one order, and of its lines, if there is one; counts both in `done`."""
        if self._orders:
            old = self.chance.choice(self._orders)
            self._next_order += 1
            cursor.execute("UPDATE orders SET order_id = :1 WHERE order_id = :2", [self._next_order, old])
            cursor.execute("UPDATE order_lines SET order_id = :1 WHERE order_id = :2", [self._next_order, old])
            done["key changes"] += 1 + cursor.rowcount
            self._gone_orders, self._new_orders = (old,), (self._next_order,)

    def _visit(self, cursor: oracledb.Cursor, done: Counter[str]) -> None:
        rows = [(_moment(self.chance), f"/{self._sku()}", Decimal(self.chance.randrange(10**6)) / 10) for _ in range(10)]
        cursor.executemany("INSERT INTO visits (happened, page, milliseconds) VALUES (:1, :2, :3)", rows)
        done["inserts"] += len(rows)
