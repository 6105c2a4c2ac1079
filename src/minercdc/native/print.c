/* Prints the values of scanned rows as JSON, to the byte as the codecs of `values/` do. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;

#define MOST_NUMBER 64 /* characters of a NUMBER that is read here */
#define MOST_DIGITS 38 /* of an unscaled value: 10^38 fits into 127 bits */

/* ---- output ---- */

int reserve(buffer *out, size_t more) {
    if (out->failed) return 0;
    if (out->room - out->size >= more) return 1;
    size_t room = out->room ? out->room : 4096;
    while (room - out->size < more) room *= 2;
    char *data = realloc(out->data, room);
    if (data == NULL) {
        out->failed = 1;
        return 0;
    }
    out->data = data;
    out->room = room;
    return 1;
}

void put(buffer *out, const char *text, size_t size) {
    if (size == 0 || !reserve(out, size)) return;
    memcpy(out->data + out->size, text, size);
    out->size += size;
}

#define PUT(out, text) put(out, "" text, sizeof(text) - 1)

static void put_char(buffer *out, char c) { put(out, &c, 1); }

static void put_repeated(buffer *out, char c, uint32_t count) {
    while (count--) put_char(out, c);
}

void put_integer(buffer *out, int64_t value) {
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) digits[--at] = '-';
    put(out, digits + at, sizeof digits - at);
}

/* `value` with at least `width` digits. */
static void put_padded(buffer *out, uint32_t value, int width) {
    char digits[16];
    int at = sizeof digits;
    for (; width-- > 0 || value; value /= 10) digits[--at] = (char)('0' + value % 10);
    put(out, digits + at, sizeof digits - (size_t)at);
}

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char BASE64_URL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static char *base64_group(char *at, const unsigned char *bytes, size_t count, const char *digits) {
    uint32_t bits = (uint32_t)bytes[0] << 16 | (count > 1 ? (uint32_t)bytes[1] << 8 : 0) | (count > 2 ? bytes[2] : 0u);
    *at++ = digits[bits >> 18];
    *at++ = digits[bits >> 12 & 63];
    *at++ = count > 1 ? digits[bits >> 6 & 63] : '=';
    *at++ = count > 2 ? digits[bits & 63] : '=';
    return at;
}

/* ---- texts ---- */

/* 1: a byte that JSON escapes; 2: an apostrophe, which may be doubled. */
static const uint8_t SPECIAL[256] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ['"'] = 1, ['\\'] = 1, ['\''] = 2,
};

static void put_escaped(buffer *out, unsigned char c) {
    static const char HEX[] = "0123456789abcdef";
    char text[6] = {'\\', 0, '0', '0', 0, 0};
    switch (c) {
    case '"': case '\\': text[1] = (char)c; break;
    case '\b': text[1] = 'b'; break;
    case '\f': text[1] = 'f'; break;
    case '\n': text[1] = 'n'; break;
    case '\r': text[1] = 'r'; break;
    case '\t': text[1] = 't'; break;
    default:
        text[1] = 'u';
        text[4] = HEX[c >> 4];
        text[5] = HEX[c & 15];
        put(out, text, 6);
        return;
    }
    put(out, text, 2);
}

static void put_text(buffer *out, const char *text, size_t size, int doubled) {
    uint8_t stop = doubled ? 3 : 1;
    size_t from = 0, at = 0;
    if (!reserve(out, size + 2)) return;
    put_char(out, '"');
    while (at < size) {
        unsigned char c = (unsigned char)text[at];
        if (!(SPECIAL[c] & stop)) {
            at++;
            continue;
        }
        put(out, text + from, at - from);
        if (c == '\'') put_char(out, '\'');
        else put_escaped(out, c);
        at += c == '\'' ? 2 : 1; /* of two apostrophes one */
        from = at < size ? at : size;
    }
    put(out, text + from, size - from);
    put_char(out, '"');
}

static void put_code_point(buffer *out, uint32_t c) {
    unsigned char bytes[4];
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (c < 0x80) {
        if (SPECIAL[c] == 1) put_escaped(out, (unsigned char)c);
        else put_char(out, (char)c);
        return;
    }
    for (size_t i = size - 1; i > 0; i--, c >>= 6) bytes[i] = (unsigned char)(0x80 | (c & 0x3F));
    bytes[0] = (unsigned char)((size == 2 ? 0xC0 : size == 3 ? 0xE0 : 0xF0) | c);
    put(out, (char *)bytes, size);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The UTF-16 unit of the escape at `text`; -1 when there is none. */
static int32_t utf16_unit(const char *text, size_t size) {
    int32_t unit = 0;
    if (size < 5 || text[0] != '\\') return -1;
    for (int i = 1; i < 5; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* The character of the escape at `text`, and its size in `*taken`; -1 for half a surrogate pair, or no escape. */
static int32_t unistr_escape(const char *text, size_t size, size_t *taken) {
    if (size >= 2 && text[1] == '\\') {
        *taken = 2;
        return '\\';
    }
    int32_t unit = utf16_unit(text, size);
    *taken = 5;
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    int32_t low = unit < 0xDC00 ? utf16_unit(text + 5, size - 5) : -1;
    if (low < 0xDC00 || low > 0xDFFF) return -1;
    *taken = 10;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

int read_unistr(const char *text, size_t size) {
    size_t taken;
    for (size_t at = 0; at < size; at += taken) {
        taken = 1;
        if (text[at] == '\\' && unistr_escape(text + at, size - at, &taken) < 0) return 0;
    }
    return 1;
}

static int put_unistr(buffer *out, const char *text, size_t size) {
    size_t taken;
    put_char(out, '"');
    for (size_t at = 0; at < size; at += taken) {
        unsigned char c = (unsigned char)text[at];
        taken = 1;
        if (c == '\\') {
            int32_t point = unistr_escape(text + at, size - at, &taken);
            if (point < 0) return 0;
            put_code_point(out, (uint32_t)point);
        } else if (SPECIAL[c] == 1) {
            put_escaped(out, c);
        } else {
            put_char(out, (char)c);
            if (c == '\'') taken = 2; /* doubled: the scanner ends a text at a single one */
        }
    }
    put_char(out, '"');
    return 1;
}

/* ---- numbers ---- */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

int read_number(const char *text, size_t size, number *out) {
    const char *end = text + size, *at = text;
    if (size == 0 || size > MOST_NUMBER) return 0;
    out->is_negative = *at == '-';
    at += out->is_negative;
    const char *whole = at;
    while (at < end && is_digit(*at)) at++;
    const char *point = at, *fraction = at;
    if (at < end && *at == '.') {
        fraction = ++at;
        while (at < end && is_digit(*at)) at++;
    }
    if (at != end || (point == whole && at == fraction)) return 0;
    while (whole < point && *whole == '0') whole++;
    while (at > fraction && at[-1] == '0') at--;
    out->whole = whole;
    out->fraction = fraction;
    out->whole_size = (uint32_t)(point - whole);
    out->fraction_size = (uint32_t)(at - fraction);
    if (out->whole_size == 0 && out->fraction_size == 0) out->is_negative = 0;
    return 1;
}

static void put_canonical(buffer *out, const number *value) {
    if (value->is_negative) put_char(out, '-');
    if (value->whole_size) put(out, value->whole, value->whole_size);
    else put_char(out, '0');
    if (value->fraction_size) {
        put_char(out, '.');
        put(out, value->fraction, value->fraction_size);
    }
}

static int put_whole_number(buffer *out, const char *text, size_t size) {
    number value;
    if (!read_number(text, size, &value) || value.fraction_size) return 0;
    put_canonical(out, &value);
    return 1;
}

static int put_canonical_text(buffer *out, const number *value, int32_t digits) {
    put_char(out, '"');
    put_canonical(out, value);
    if (digits > (int32_t)value->fraction_size) {
        if (!value->fraction_size) put_char(out, '.');
        put_repeated(out, '0', (uint32_t)digits - value->fraction_size);
    }
    put_char(out, '"');
    return 1;
}

/* Big-endian two's complement in as few bytes as hold it, base64, with its quotes. */
static int put_unscaled(buffer *out, const number *value, uint32_t scale) {
    unsigned char image[16];
    char text[28], *at = text;
    unsigned_wide magnitude = 0;
    if (value->fraction_size > scale || value->whole_size + scale > MOST_DIGITS) return 0;
    for (uint32_t i = 0; i < value->whole_size; i++) magnitude = magnitude * 10 + (unsigned)(value->whole[i] - '0');
    for (uint32_t i = 0; i < value->fraction_size; i++) magnitude = magnitude * 10 + (unsigned)(value->fraction[i] - '0');
    for (uint32_t i = value->fraction_size; i < scale; i++) magnitude *= 10;
    wide unscaled = value->is_negative ? -(wide)magnitude : (wide)magnitude;
    size_t size = 1;
    while (size < 16 && (unscaled >> (8 * size - 1)) != 0 && (unscaled >> (8 * size - 1)) != -1) size++;
    for (size_t i = 0; i < size; i++) image[i] = (unsigned char)((unsigned_wide)unscaled >> (8 * (size - 1 - i)));
    *at++ = '"';
    for (size_t i = 0; i < size; i += 3) at = base64_group(at, image + i, size - i < 3 ? size - i : 3, BASE64);
    *at++ = '"';
    put(out, text, (size_t)(at - text));
    return 1;
}

static int no_float(const char *text, size_t size, int is_single, char *out) {
    (void)text, (void)size, (void)is_single, (void)out;
    return 0;
}

float_text print_float = no_float;

static int put_float(buffer *out, const char *text, size_t size, int is_single) {
    char shortest[32];
    int length = print_float(text, size, is_single, shortest);
    if (length <= 0) return 0;
    put(out, shortest, (size_t)length);
    return 1;
}

static int put_number(buffer *out, const print_column *column, const char *text, size_t size) {
    number value;
    if (!read_number(text, size, &value)) return 0;
    switch (column->kind) {
    case PRINT_CANONICAL: return put_canonical_text(out, &value, 0);
    case PRINT_PADDED: return put_canonical_text(out, &value, column->digits);
    case PRINT_DECIMAL: return put_unscaled(out, &value, (uint32_t)column->digits);
    case PRINT_NUMBER_DOUBLE:
        if (!value.whole_size && !value.fraction_size) return put_float(out, "0", 1, 0); /* no -0.0 */
        return put_float(out, text, size, 0);
    default: /* PRINT_VARIABLE_SCALE */
        PUT(out, "{\"scale\":");
        put_integer(out, value.fraction_size);
        PUT(out, ",\"value\":");
        if (!put_unscaled(out, &value, value.fraction_size)) return 0;
        put_char(out, '}');
        return 1;
    }
}

/* Digits, with a point or without; perhaps an exponent: nothing that a strtod takes beyond that. */
int read_float(const char *text, size_t size) {
    size_t at = 0, digits = 0;
    if (size == 0 || size > MOST_NUMBER) return 0;
    if (text[at] == '-') at++;
    for (; at < size && is_digit(text[at]); at++) digits++;
    if (at < size && text[at] == '.')
        for (at++; at < size && is_digit(text[at]); at++) digits++;
    if (!digits) return 0;
    if (at == size) return 1;
    if (text[at] != 'e' && text[at] != 'E') return 0;
    at++;
    if (at < size && (text[at] == '-' || text[at] == '+')) at++;
    if (at == size || size - at > 4) return 0;
    for (; at < size; at++)
        if (!is_digit(text[at])) return 0;
    return 1;
}

/* ---- dates and timestamps ---- */

static int two_digits(const char *text) { return is_digit(text[0]) && is_digit(text[1]) ? 10 * (text[0] - '0') + text[1] - '0' : -1; }

static int64_t days_from_civil(int year, int month, int day) { /* year > 0 */
    int64_t shifted = year - (month <= 2);
    int64_t era = shifted / 400, of_era = shifted - era * 400;
    int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_of_month(int year, int month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : days[month - 1];
}

/* `YYYY-MM-DD HH:MM:SS[.nnnnnnnnn][ +HH:MM]`: a date that there is, in the years 1 to 9999. */
int read_moment(const char *text, size_t size, int spelling, moment *out) {
    if (size < 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' || text[16] != ':') return 0;
    int century = two_digits(text), year = two_digits(text + 2), month = two_digits(text + 5), day = two_digits(text + 8);
    int hour = two_digits(text + 11), minute = two_digits(text + 14), second = two_digits(text + 17);
    if (century < 0 || year < 0 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59
        || second < 0 || second > 59)
        return 0;
    year += 100 * century;
    if (year < 1 || day > days_of_month(year, month)) return 0;
    out->seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    out->nanos = 0;
    out->offset = NULL;
    size_t at = 19;
    if (spelling == SPELLED_DATE) return size == at;
    if (at < size && text[at] == '.') {
        uint32_t unit = 100000000;
        for (at++; at < size && is_digit(text[at]); at++, unit /= 10) {
            if (unit == 0) return 0;
            out->nanos += unit * (uint32_t)(text[at] - '0');
        }
        if (at == 20) return 0;
    }
    if (spelling == SPELLED_TIMESTAMP) return at == size;
    if (size - at != 7 || text[at] != ' ' || (text[at + 1] != '+' && text[at + 1] != '-') || two_digits(text + at + 2) < 0
        || text[at + 4] != ':' || two_digits(text + at + 5) < 0)
        return 0;
    out->offset = text + at;
    return 1;
}

static void put_iso(buffer *out, const char *text, uint32_t nanos, int digits) {
    put_char(out, '"');
    put(out, text, 10);
    put_char(out, 'T');
    put(out, text + 11, 8);
    if (digits) {
        for (int i = digits; i < 9; i++) nanos /= 10;
        put_char(out, '.');
        put_padded(out, nanos, digits);
    }
}

static int put_moment(buffer *out, const print_column *column, const char *text, size_t size) {
    moment at;
    if (!read_moment(text, size, column->spelling, &at)) return 0;
    if (column->kind == PRINT_EPOCH) {
        int64_t unit = 1;
        uint32_t part = at.nanos;
        for (int i = 0; i < column->digits; i++) unit *= 10;
        for (int i = column->digits; i < 9; i++) part /= 10;
        /* In nanoseconds 64 bits hold the years 1678 to 2261, and parts of 1677 and 2262. */
        if (column->digits > 6 && (at.seconds < -9214560000 || at.seconds > 9214560000)) return 0;
        put_integer(out, at.seconds * unit + part);
        return 1;
    }
    if (column->kind == PRINT_ISO) {
        int digits = 9;
        for (uint32_t left = at.nanos; digits && left % 10 == 0; left /= 10) digits--;
        put_iso(out, text, at.nanos, digits);
        PUT(out, "Z\"");
        return 1;
    }
    put_iso(out, text, at.nanos, column->digits);
    if (at.offset == NULL || memcmp(at.offset + 2, "00:00", 5) == 0) put_char(out, 'Z');
    else put(out, at.offset + 1, 6);
    put_char(out, '"');
    return 1;
}

/* ---- intervals ---- */

/* Digits up to `stop`, which is passed; at most nine. */
static const char *read_part(const char *at, const char *end, char stop, int64_t *value) {
    const char *start = at;
    for (*value = 0; at < end && is_digit(*at); at++) {
        if (at - start == 9) return NULL;
        *value = *value * 10 + (*at - '0');
    }
    if (at == start) return NULL;
    if (stop == 0) return at;
    return at < end && *at == stop ? at + 1 : NULL;
}

static const char *read_sign(const char *at, const char *end, interval *out) {
    memset(out, 0, sizeof *out);
    if (at < end && (*at == '+' || *at == '-')) out->is_negative = *at++ == '-';
    return at;
}

int read_year_month(const char *text, size_t size, interval *out) {
    const char *end = text + size, *at = read_sign(text, end, out);
    at = read_part(at, end, '-', &out->parts[0]);
    if (at != NULL) at = read_part(at, end, 0, &out->parts[1]);
    if (at == NULL || at != end) return 0;
    if (!out->parts[0] && !out->parts[1]) out->is_negative = 0;
    return 1;
}

int read_day_second(const char *text, size_t size, interval *out) {
    static const char STOPS[4] = {' ', ':', ':', 0};
    const char *end = text + size, *at = read_sign(text, end, out);
    for (int i = 0; i < 4; i++) {
        at = read_part(at, end, STOPS[i], &out->parts[i]);
        if (at == NULL) return 0;
    }
    if (at < end && *at == '.') {
        uint32_t unit = 100000000;
        for (at++; at < end && is_digit(*at); at++, unit /= 10) {
            if (unit == 0) return 0;
            out->nanos += unit * (uint32_t)(*at - '0');
        }
    }
    if (at != end) return 0;
    if (!out->parts[0] && !out->parts[1] && !out->parts[2] && !out->parts[3] && !out->nanos) out->is_negative = 0;
    return 1;
}

static void put_signed(buffer *out, const interval *value, int part) {
    put_integer(out, value->is_negative ? -value->parts[part] : value->parts[part]);
}

static int put_interval(buffer *out, const print_column *column, const char *text, size_t size) {
    interval value;
    int months = column->kind == PRINT_MONTHS || column->kind == PRINT_MONTHS_ISO;
    if (!(months ? read_year_month : read_day_second)(text, size, &value)) return 0;
    if (column->kind == PRINT_MONTHS) {
        int64_t count = value.parts[0] * 12 + value.parts[1];
        if (count > INT64_MAX / 2629800000000) return 0;
        put_integer(out, (value.is_negative ? -count : count) * 2629800000000); /* a twelfth of 365.25 days, in microseconds */
    } else if (column->kind == PRINT_SECONDS) {
        int64_t seconds = ((value.parts[0] * 24 + value.parts[1]) * 60 + value.parts[2]) * 60 + value.parts[3];
        if (seconds > INT64_MAX / 1000000 - 1) return 0;
        int64_t micros = seconds * 1000000 + value.nanos / 1000;
        put_integer(out, value.is_negative ? -micros : micros);
    } else if (column->kind == PRINT_MONTHS_ISO) {
        PUT(out, "\"P");
        put_signed(out, &value, 0);
        put_char(out, 'Y');
        put_signed(out, &value, 1);
        PUT(out, "M0DT0H0M0S\"");
    } else {
        PUT(out, "\"P0Y0M");
        put_signed(out, &value, 0);
        PUT(out, "DT");
        put_signed(out, &value, 1);
        put_char(out, 'H');
        put_signed(out, &value, 2);
        put_char(out, 'M');
        if (value.is_negative && !value.parts[3] && value.nanos) put_char(out, '-');
        put_signed(out, &value, 3);
        if (value.nanos) {
            int digits = 9;
            uint32_t nanos = value.nanos;
            for (; nanos % 10 == 0; nanos /= 10) digits--;
            put_char(out, '.');
            put_padded(out, nanos, digits);
        }
        PUT(out, "S\"");
    }
    return 1;
}

/* ---- RAW ---- */

static int put_raw(buffer *out, int kind, const char *text, size_t size) {
    unsigned char group[3];
    char digits[4];
    const char *alphabet = kind == PRINT_BASE64_URL ? BASE64_URL : BASE64;
    size_t held = 0;
    if (size % 2) return 0;
    put_char(out, '"');
    for (size_t at = 0; at < size; at += 2) {
        int high = hex_digit(text[at]), low = hex_digit(text[at + 1]);
        if (high < 0 || low < 0) return 0;
        if (kind == PRINT_HEX) {
            static const char HEX[] = "0123456789abcdef";
            put_char(out, HEX[high]);
            put_char(out, HEX[low]);
            continue;
        }
        group[held++] = (unsigned char)(high << 4 | low);
        if (held == 3 || at + 2 == size) {
            base64_group(digits, group, held, alphabet);
            put(out, digits, 4);
            held = 0;
        }
    }
    put_char(out, '"');
    return 1;
}

/* ---- cells and rows ---- */

int print_cell(buffer *out, const print_column *column, const char *sql, const cell *value) {
    const char *text = sql + value->at;
    size_t size = value->size;
    switch (value->kind) {
    case CELL_NULL:
        PUT(out, "null");
        return 1;
    case CELL_ABSENT:
        if (column->unavailable == NULL) return 0;
        put(out, column->unavailable, column->unavailable_size);
        return 1;
    case CELL_EMPTY:
        if (column->kind != PRINT_TEXT && (column->kind < PRINT_HEX || column->kind > PRINT_BASE64_URL)) return 0;
        PUT(out, "\"\"");
        return 1;
    case CELL_UNISTR:
        return column->kind == PRINT_TEXT && put_unistr(out, text, size);
    case CELL_DOUBLED:
        if (column->kind != PRINT_TEXT) return 0;
        put_text(out, text, size, 1);
        return 1;
    case CELL_TEXT: break;
    default: return 0;
    }
    switch (column->kind) {
    case PRINT_TEXT:
        put_text(out, text, size, 0);
        return 1;
    case PRINT_INTEGER: return put_whole_number(out, text, size);
    case PRINT_CANONICAL: case PRINT_PADDED: case PRINT_NUMBER_DOUBLE: case PRINT_DECIMAL: case PRINT_VARIABLE_SCALE:
        return put_number(out, column, text, size);
    case PRINT_SINGLE: case PRINT_DOUBLE:
        return read_float(text, size) && put_float(out, text, size, column->kind == PRINT_SINGLE);
    case PRINT_EPOCH: case PRINT_ISO: case PRINT_ZONED: return put_moment(out, column, text, size);
    case PRINT_HEX: case PRINT_BASE64: case PRINT_BASE64_URL: return put_raw(out, column->kind, text, size);
    case PRINT_MONTHS: case PRINT_SECONDS: case PRINT_MONTHS_ISO: case PRINT_SECONDS_ISO:
        return put_interval(out, column, text, size);
    default: return 0;
    }
}

int print_row(buffer *out, const print_column *columns, uint32_t count, const char *sql, const cell *row, size_t *marks,
              const cell *other, const size_t *old) {
    if (count == 0) put_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        const print_column *column = &columns[i];
        const cell *value = &row[column->position];
        put(out, column->member, column->member_size);
        marks[2 * i] = out->size;
        if (old != NULL && other[column->position].kind == value->kind && other[column->position].at == value->at
            && other[column->position].size == value->size) {
            size_t size = old[2 * i + 1] - old[2 * i];
            if (reserve(out, size)) put(out, out->data + old[2 * i], size);
        } else if (!print_cell(out, column, sql, value)) {
            return 0;
        }
        marks[2 * i + 1] = out->size;
    }
    put_char(out, '}');
    return !out->failed;
}
