"""Spark SQL that reads Connect's decimals: an unscaled value as big-endian two's complement bytes, and a scale.

Expressions of Spark only, the same with ANSI mode on and off. Each form that is cheaper is used as far as it is exact:

    up to 6 bytes    as the hexadecimal spelling of a DOUBLE, which has 53 bits: half the cost of conv()
    up to 8 bytes    conv() to BIGINT
    up to 15 bytes   the last eight bytes, and those before them, as DECIMALs; 16 bytes, too, in `exact_decimal`
    more             as text only: limbs of 20 digits in an array, 7 bytes at a time

Planning these costs a query of a few rows more than the rows do. `short_decimal` and `short_text` are for such: up to 8 bytes, and slower.
"""

from __future__ import annotations

from minercdc.lake.spark.sql import literal

MAX_PRECISION = 38
SHORT_DIGITS = 18  # of a number of at most eight bytes in any case
_LONG_DIGITS = 19
_DOUBLE_BYTES, _LONG_BYTES, _DECIMAL_BYTES = 6, 8, 15
_CHUNK = 14  # hexadecimal digits of 7 bytes: a limb of 20 digits times 2**56 fits a DECIMAL(38)
_LIMB = 20


def or_refused(value: str, member: str, column: str, wanted: str) -> str:
    """SQL of `value`, which is null where the member does not fit: the query fails at such a member that is not null itself.

    :param value, member: SQL.
    :param column: name for the message.
    :param wanted: type for the message.
    """
    message = literal(f"column {column}: a value does not fit {wanted}")
    return f"coalesce({value}, if({member} IS NULL, NULL, raise_error({message})))"


def exact_decimal(member: str, precision: int, scale: int, column: str) -> str:
    """SQL of a BINARY member of a fixed scale as DECIMAL; a value that does not fit makes the query fail.

    :param member: SQL of the unscaled value's bytes.
    :param precision, scale: of the DECIMAL. With a negative scale, the value is the unscaled one times 10**-scale, and the
        DECIMAL has scale 0.
    """
    wanted = f"DECIMAL({precision},{max(scale, 0)})"
    value = _scaled(_long(member), scale, _LONG_DIGITS)
    value = f"WHEN length({member}) <= {_LONG_BYTES} THEN try_cast({value} AS {wanted})"
    if precision >= _LONG_DIGITS:
        wide = _moved(f"CAST({_wide(member)} AS STRING)", scale)
        value += f" WHEN length({member}) <= {2 * _LONG_BYTES} THEN try_cast({wide} AS {wanted})"
    value = f"CASE {value} END"
    return or_refused(value, member, column, wanted)


def short_decimal(member: str, precision: int, scale: int, column: str) -> str:
    """As `exact_decimal`, of a precision of at most `SHORT_DIGITS`; more than eight bytes make the query fail."""
    value = f"try_cast({_scaled(_short_long(member), scale, _LONG_DIGITS)} AS DECIMAL({precision},{max(scale, 0)}))"
    return or_refused(value, member, column, f"DECIMAL({precision},{max(scale, 0)})")


def short_text(member: str, scale: str, column: str) -> str:
    """As `plain_text`, of at most eight bytes; more make the query fail, with `column` in the message."""
    text = _text_of(f"CAST({_short_long(member)} AS STRING)", scale)
    return or_refused(text, member, column, f"{_LONG_BYTES} bytes")


def plain_text(member: str, scale: str) -> str:
    """SQL of the text of a BINARY member times 10**-scale: all digits, without an exponent.

    :param member: SQL of the unscaled value's bytes.
    :param scale: SQL of an INT, which may be negative.
    """
    long = _long(f"if(length({member}) <= {_LONG_BYTES}, {member}, NULL)")
    unit = f"CAST(power(10, {scale}) AS BIGINT)"
    fraction = f"lpad(CAST(abs({long} % {unit}) AS STRING), {scale}, '0')"
    short = f"concat(if({long} < 0 AND {long} > -{unit}, '-', ''), {long} DIV {unit}, '.', {fraction})"
    # the first condition is evaluated in any case, which makes Spark read the bytes once only
    return (
        f"CASE WHEN {long} IS NULL OR {scale} < 0 OR {scale} > 18 THEN {_any_text(member, scale)} "
        f"WHEN {scale} = 0 THEN CAST({long} AS STRING) ELSE {short} END"
    )


def _any_text(member: str, scale: str) -> str:
    unscaled = (
        f"CASE WHEN length({member}) <= {_LONG_BYTES} THEN CAST({_long(member)} AS STRING) "
        f"WHEN length({member}) <= {_DECIMAL_BYTES} THEN CAST({_wide(member)} AS STRING) ELSE {_limbs(member)} END"
    )
    return _text_of(unscaled, scale)


def _text_of(unscaled: str, scale: str) -> str:
    """SQL of all digits of an integer times 10**-scale, from SQL of its digits as text."""
    digits = "ltrim('-', unscaled_)"
    padded = f"lpad({digits}, greatest(length({digits}), {scale} + 1), '0')"
    sign = "if(startswith(unscaled_, '-'), '-', '')"
    fraction = f"concat({sign}, left({padded}, length({padded}) - {scale}), '.', right({padded}, {scale}))"
    whole = f"if(unscaled_ = '0', '0', concat(unscaled_, repeat('0', abs({scale}))))"
    text = f"CASE WHEN {scale} = 0 THEN unscaled_ WHEN {scale} > 0 THEN {fraction} ELSE {whole} END"
    return f"transform(array({unscaled}), unscaled_ -> {text})[0]"  # a lambda, so that the bytes are read once only


def _scaled(unscaled: str, scale: int, digits: int) -> str:
    """SQL of an integer times 10**-scale: a DECIMAL, or text that casts to one.

    :param digits: the most that the integer has.
    """
    if scale == 0:
        return unscaled
    if 0 < scale < MAX_PRECISION - digits:
        return f"CAST({unscaled} AS DECIMAL({digits},0)) * 0.{'1'.rjust(scale, '0')}BD"  # the product has all its digits
    return _moved(unscaled, scale)


def _moved(unscaled: str, scale: int) -> str:
    return f"concat({unscaled}, 'E{-scale}')" if scale else unscaled


def _long(member: str) -> str:
    """SQL of at most eight bytes as BIGINT; without meaning for more."""
    image = f"hex({member})"
    missing = f"(64 - 8 * length({member}))"
    # an engine that reads no hexadecimal DOUBLE goes on with conv()
    double = (
        f"CAST(try_cast(if(length({member}) <= {_DOUBLE_BYTES}, concat('0x', {image}, 'p0'), NULL) AS DOUBLE) AS BIGINT)"
    )
    unsigned = f"coalesce({double}, CAST(conv({image}, 16, -10) AS BIGINT))"
    return f"shiftright(shiftleft({unsigned}, {missing}), {missing})"  # the sign goes to the left and comes back


def _short_long(member: str) -> str:
    """SQL of at most eight bytes as BIGINT; null for more."""
    image = f"lpad(hex({member}), {2 * _LONG_BYTES}, if({member} >= X'80', 'F', '0'))"
    return f"CAST(conv(if(length({member}) <= {_LONG_BYTES}, {image}, NULL), 16, -10) AS BIGINT)"


def _wide(member: str) -> str:
    """SQL of 9 to 16 bytes as DECIMAL(38,0); null for a value of more than 38 digits."""
    high = _long(f"substring({member}, 1, length({member}) - {_LONG_BYTES})")
    low = f"CAST(conv(right(hex({member}), {2 * _LONG_BYTES}), 16, 10) AS DECIMAL(20,0))"
    product = f"try_multiply(CAST({{}} AS DECIMAL(19,0)), {2**64}BD)"
    positive = f"try_add({product.format(high)}, {low})"
    # by the complement: the product alone may have more digits than the value, which lies nearer to zero
    complement = f"try_add({product.format(f'~({high})')}, {2**64 - 1}BD - {low})"
    return f"if({high} < 0, try_subtract(-1, {complement}), {positive})"


def _limbs(member: str) -> str:
    """SQL of any number of bytes as the text of an integer."""
    complement = f"translate(hex({member}), '0123456789ABCDEF', 'FEDCBA9876543210')"
    negative = f"{member} >= X'80'"
    count = f"CAST((length({member}) + 6) DIV 7 AS INT)"
    padded = f"lpad(if({negative}, {complement}, hex({member})), {count} * {_CHUNK}, '0')"
    # -x is the complement of x plus one, which the last chunk can hold
    chunks = (
        f"transform(sequence(1, {count}), chunk_ -> CAST(conv(substring({padded}, (chunk_ - 1) * {_CHUNK} + 1, {_CHUNK}), 16, 10)"
        f" AS BIGINT) + if(chunk_ = {count} AND {negative}, 1, 0))"
    )
    no_limbs = f"CAST(array() AS ARRAY<DECIMAL({_LIMB},0)>)"
    product = f"(limb_ * {2**56}BD + state_.carry)"
    step = (
        f"named_struct('limbs', array_append(state_.limbs, CAST({product} % {10**_LIMB}BD AS DECIMAL({_LIMB},0))), "
        f"'carry', {product} DIV {10**_LIMB}BD)"
    )
    last = f"if(state_.carry = 0, state_.limbs, array_append(state_.limbs, CAST(state_.carry AS DECIMAL({_LIMB},0))))"
    multiplied = (
        f"aggregate(limbs_, named_struct('limbs', {no_limbs}, 'carry', next_), (state_, limb_) -> {step}, state_ -> {last})"
    )
    text = f"array_join(transform(reverse(limbs_), limb_ -> lpad(CAST(limb_ AS STRING), {_LIMB}, '0')), '')"
    digits = f"aggregate({chunks}, {no_limbs}, (limbs_, next_) -> {multiplied}, limbs_ -> ltrim('0', {text}))"
    return f"concat(if({negative}, '-', ''), {digits})"
