"""Other stored bytes decode as the type that they have."""

from __future__ import annotations

import re

import pytest
from tests.unit.values.test_image import IMAGES

from minercdc.operate.recording.replacement import Replacement
from minercdc.schema.table import Column
from minercdc.values.image import Encoding, text_of_image


@pytest.mark.parametrize(("type_name", "image", "text"), IMAGES)
def test_other_bytes_are_of_the_same_type(type_name: str, image: str, text: str) -> None:
    for _ in range(50):
        made = Replacement().sql(f"""update "S"."T" set "COL 2" = HEXTORAW('{image}')""")
        found = re.search("'([0-9a-f]*)'", made)
        assert found is not None
        assert len(found[1]) == len(image)
        text_of_image(Column("C", type_name), bytes.fromhex(found[1]), Encoding())


def test_a_number_and_a_text_become_others() -> None:
    made = {
        Replacement().sql("""update "S"."T" set "COL 1" = HEXTORAW('c2022a'), "COL 2" = HEXTORAW('4164c3a9')""")
        for _ in range(9)
    }
    assert len(made) > 5


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Müller", "cp1252"),
        ("Łódź", "cp1250"),
        ("Чехов", "cp1251"),
        ("Zoë", "iso8859-15"),
        ("Müller", "utf-16-be"),
        ("Чехов 😀", "utf-16-be"),
        ("12 of", "utf-8"),
        ("two\nlines", "utf-8"),
        ("東京\u3000都", "utf-8"),
    ],
)
def test_no_letter_of_a_text_stays_in_any_character_set(text: str, codec: str) -> None:
    image = text.encode(codec).hex()
    made = [Replacement().sql(f"""update "S"."T" set "COL 1" = HEXTORAW('{image}')""") for _ in range(50)]
    texts = [bytes.fromhex(one.split("'")[1]).decode(codec) for one in made]
    assert all(len({one[i] for one in texts}) > 1 for i, letter in enumerate(text) if letter.isalpha())
