"""GOTO, and FORALL that goes on after failed rows."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient


def printed(shop: SqlClient, block: str) -> str:
    """What a block leaves in the one row of table OUT."""
    shop.run("create table out (t varchar2(200))")
    shop.run(block)
    return str(shop.one("select t from out"))


def test_goto_backwards_forwards_and_out_of_blocks(shop: SqlClient) -> None:
    block = """declare n number := 0; s varchar2(200);
    begin
      <<again>>
      n := n + 1;
      s := s || n;
      for i in 1 .. 3 loop
        begin
          if n < 3 then goto again; end if;
          raise no_data_found;
        exception when no_data_found then goto done;
        end;
      end loop;
      s := s || 'never';
      <<done>>
      insert into out values (s || '.');
    end;"""
    assert printed(shop, block) == "123."


def test_labels_of_loops_are_still_those_of_loops(shop: SqlClient) -> None:
    block = """declare s varchar2(20);
    begin
      <<outer>> for i in 1 .. 3 loop
        for j in 1 .. 3 loop
          exit outer when i = 2;
          continue outer when j = 2;
          s := s || i || j || ' ';
        end loop;
      end loop outer;
      insert into out values (s);
    end;"""
    assert printed(shop, block) == "11 "


@pytest.mark.parametrize(
    "block",
    [
        "begin goto nowhere; end;",
        "begin goto inside; begin <<inside>> null; end; end;",
        "declare procedure p is begin goto outside; end; begin <<outside>> p; end;",
    ],
)
def test_goto_reaches_enclosing_sequences_only(shop: SqlClient, block: str) -> None:
    assert "PLS-00375" in str(shop.fails(6550, block))


def test_save_exceptions(items: SqlClient) -> None:
    items.run("create table out (t varchar2(200))")
    items.run(
        """declare
      type ids is table of number index by pls_integer;
      t ids; s varchar2(200);
    begin
      t(1) := 10; t(2) := 1; t(3) := 11; t(4) := null;
      begin
        forall i in 1 .. 4 save exceptions insert into item (id, name) values (t(i), 'new');
      exception when others then
        s := sqlcode || ':' || sql%bulk_exceptions.count;
        for i in 1 .. sql%bulk_exceptions.count loop
          s := s || ' ' || sql%bulk_exceptions(i).error_index || '=' || sql%bulk_exceptions(i).error_code;
        end loop;
        s := s || ' ' || sql%bulk_rowcount(1) || sql%bulk_rowcount(2);
      end;
      insert into out values (s);
    end;"""
    )
    assert items.one("select t from out") == "-24381:2 2=1 4=1400 10"
    assert items.one("select count(*) from item where name = 'new'") == 2
    assert "PLS-00302" in str(items.fails(6550, "begin dbms_output.put_line(sql%bulk_exceptions(1).none); end;"))


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        ("insert into out values ('x'); exit;", "PLS-00376"),
        ("insert into out values ('x'); continue when 1 = 1;", "PLS-00376"),
        ("declare procedure p is begin exit; end; begin for i in 1 .. 3 loop p; end loop; end;", "PLS-00376"),
        ("for i in 1 .. 3 loop exit another; end loop;", "PLS-00201: identifier 'ANOTHER' must be declared"),
    ],
)
def test_exit_without_its_loop_is_found_before_the_block_runs(shop: SqlClient, statements: str, text: str) -> None:
    shop.run("create table out (t varchar2(200))")
    assert text in str(shop.fails(6550, f"begin {statements} end;"))
    assert shop.one("select count(*) from out") == 0


def test_exit_within_a_block_in_a_loop(shop: SqlClient) -> None:
    block = """declare s varchar2(20);
    begin
      <<outer>> loop
        while true loop
          begin
            s := s || 'a';
            if s = 'aaa' then exit outer; end if;
            continue outer when s = 'aa';
          end;
        end loop;
      end loop;
      insert into out values (s);
    end;"""
    assert printed(shop, block) == "aaa"
