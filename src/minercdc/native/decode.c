#include "decode.h"

#include <stdlib.h>
#include <string.h>

read_number read_double_text;

typedef struct {
    const char *at, *end;
} reader;

static int takes(reader *in, const char *text, size_t size) {
    if ((size_t)(in->end - in->at) < size || memcmp(in->at, text, size) != 0) return 0;
    in->at += size;
    return 1;
}

static int takes_byte(reader *in, char byte) {
    if (in->at >= in->end || *in->at != byte) return 0;
    in->at++;
    return 1;
}

/* --- JSON without white space */

/* A string with its quotes: what is between them, and whether it has escapes. */
static int string(reader *in, reader *content, int *escaped) {
    if (!takes_byte(in, '"')) return 0;
    content->at = in->at;
    *escaped = 0;
    for (;;) {
        const char *quote = memchr(in->at, '"', (size_t)(in->end - in->at));
        if (!quote) return 0;
        const char *slash = memchr(in->at, '\\', (size_t)(quote - in->at));
        if (!slash) {
            content->end = quote;
            in->at = quote + 1;
            return 1;
        }
        *escaped = 1;
        if (in->end - slash < 2) return 0;
        in->at = slash + 2;
    }
}

static int number_end(reader *in) {
    const char *begin = in->at;
    while (in->at < in->end && *in->at != ',' && *in->at != '}' && *in->at != ']') in->at++;
    return in->at > begin;
}

static int skip(reader *in) {
    int depth = 0, escaped;
    reader content;
    do {
        if (in->at >= in->end) return 0;
        switch (*in->at) {
        case '"':
            if (!string(in, &content, &escaped)) return 0;
            break;
        case '{':
        case '[':
            depth++;
            in->at++;
            continue;
        case '}':
        case ']':
            if (!depth--) return 0;
            in->at++;
            break;
        case ',':
        case ':':
            if (!depth) return 0;
            in->at++;
            continue;
        default:
            if (!number_end(in)) return 0;
        }
    } while (depth > 0);
    return 1;
}

/* --- values */

static int grow(read_values *out, size_t more) {
    if (out->text && out->size + more <= out->room) return 1;
    size_t room = (out->size + more) * 2 + 64;
    char *text = realloc(out->text, room);
    if (!text) return 0;
    out->text = text;
    out->room = room;
    return 1;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static int code_unit(const char *at, const char *end) {
    int code = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

static size_t put_utf8(char *to, int code) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 63));
        to[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 63));
    to[2] = (char)(0x80 | (code >> 6 & 63));
    to[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* The text without its escapes, which is shorter. Half a surrogate pair is left to others. */
static int unescape(const char *at, const char *end, char *to, size_t *size) {
    static const char NAMES[] = "\"\\/bfnrt", BYTES[] = "\"\\/\b\f\n\r\t";
    char *begin = to;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        char c = at[1]; /* string() has seen it */
        at += 2;
        if (c == 'u') {
            int code = code_unit(at, end);
            if (code < 0) return 0;
            at += 4;
            if (code >= 0xd800 && code < 0xe000) {
                int low = code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? code_unit(at + 2, end) : -1;
                if (low < 0xdc00 || low > 0xdfff) return 0;
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
            to += put_utf8(to, code);
            continue;
        }
        const char *found = c ? strchr(NAMES, c) : NULL;
        if (!found) return 0;
        *to++ = BYTES[found - NAMES];
    }
    *size = (size_t)(to - begin);
    return 1;
}

static int text_value(reader *in, read_values *out) {
    reader content;
    int escaped;
    size_t size;
    if (!string(in, &content, &escaped)) return READ_LEFT;
    size = (size_t)(content.end - content.at);
    if (!grow(out, size)) return READ_NO_MEMORY;
    if (!escaped) memcpy(out->text + out->size, content.at, size);
    else if (!unescape(content.at, content.end, out->text + out->size, &size)) return READ_LEFT;
    out->size += size;
    return READ_DONE;
}

static int base64_digit(unsigned char c, int url) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == (url ? '-' : '+')) return 62;
    if (c == (url ? '_' : '/')) return 63;
    return -1;
}

/* Bytes of padded base64; -1 for another text. `to` has room for 3 bytes for each 4. */
static int64_t base64(const char *at, const char *end, char *to, int url) {
    char *begin = to;
    if ((end - at) % 4) return -1;
    for (; at < end; at += 4) {
        int last = at + 4 == end, kept = last && at[3] == '=' ? (at[2] == '=' ? 1 : 2) : 3;
        uint32_t word = 0;
        for (int i = 0; i < 4; i++) {
            int digit = i <= kept ? base64_digit((unsigned char)at[i], url) : 0;
            if (digit < 0) return -1;
            word = word << 6 | (uint32_t)digit;
        }
        if (word & (kept == 1 ? 0xffff : kept == 2 ? 0xff : 0)) return -1;
        for (int i = 0; i < kept; i++) *to++ = (char)(word >> (16 - 8 * i));
    }
    return to - begin;
}

static int bytes_value(reader *in, read_values *out, int kind) {
    reader content;
    int escaped;
    if (!string(in, &content, &escaped) || escaped) return READ_LEFT;
    size_t size = (size_t)(content.end - content.at);
    if (!grow(out, size)) return READ_NO_MEMORY;
    char *to = out->text + out->size;
    if (kind != READ_HEX) {
        int64_t found = base64(content.at, content.end, to, kind == READ_BASE64_URL);
        if (found < 0) return READ_LEFT;
        out->size += (size_t)found;
        return READ_DONE;
    }
    if (size % 2) return READ_LEFT;
    for (size_t i = 0; i < size; i += 2) {
        int high = hex_digit(content.at[i]), low = hex_digit(content.at[i + 1]);
        if (high < 0 || low < 0) return READ_LEFT;
        to[i / 2] = (char)(high << 4 | low);
    }
    out->size += size / 2;
    return READ_DONE;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int integer(reader *in, int64_t *value) {
    int negative = takes_byte(in, '-');
    uint64_t most = ((uint64_t)1 << 63) - !negative, size = 0;
    const char *begin = in->at;
    for (; in->at < in->end && is_digit(*in->at); in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        if (size > (most - digit) / 10) return 0;
        size = size * 10 + digit;
    }
    if (in->at == begin || (*begin == '0' && in->at - begin > 1) || (negative && !size)) return 0;
    *value = negative ? (int64_t)(~size + 1) : (int64_t)size;
    return 1;
}

static int integer_value(reader *in, const read_column *column, read_values *out, int64_t row) {
    int64_t value, most = column->width == 8 ? INT64_MAX : ((int64_t)1 << (8 * column->width - 1)) - 1;
    int quoted = takes_byte(in, '"');
    if (!integer(in, &value) || (quoted && !takes_byte(in, '"'))) return READ_LEFT;
    if (quoted != (column->scale == 1)) return READ_LEFT; /* scale 1: the plan expects digits as text */
    if (value > most || value < -most - 1) return READ_LEFT;
    memcpy(out->fixed + row * column->width, &value, column->width); /* little-endian */
    return READ_DONE;
}

typedef unsigned __int128 wide;

static wide power_of_ten(int digits) {
    wide power = 1;
    while (digits-- > 0) power *= 10;
    return power;
}

/* The number of at most 16 bytes in base64: its sign, and its size. */
static int unscaled(reader *in, int *negative, wide *size) {
    reader content;
    int escaped;
    char bytes[18];
    if (!string(in, &content, &escaped) || escaped || content.end - content.at > 24) return 0;
    int64_t count = base64(content.at, content.end, bytes, 0);
    if (count < 1 || count > 16) return 0;
    *negative = (bytes[0] & 0x80) != 0;
    wide value = *negative ? ~(wide)0 : 0;
    for (int64_t i = 0; i < count; i++) value = value << 8 | (uint8_t)bytes[i];
    *size = *negative ? ~value + 1 : value;
    return 1;
}

static int put_decimal(const read_column *column, read_values *out, int64_t row, int negative, wide size) {
    if (size >= power_of_ten(column->precision)) return READ_LEFT;
    wide value = negative ? ~size + 1 : size;
    memcpy(out->fixed + row * 16, &value, 16);
    return READ_DONE;
}

static int decimal_value(reader *in, const read_column *column, read_values *out, int64_t row) {
    int negative;
    wide size;
    if (!unscaled(in, &negative, &size)) return READ_LEFT;
    return put_decimal(column, out, row, negative, size);
}

static int decimal_text_value(reader *in, const read_column *column, read_values *out, int64_t row) {
    reader content;
    int escaped, digits = 0, after = -1;
    wide size = 0;
    if (!string(in, &content, &escaped) || escaped) return READ_LEFT;
    int negative = takes_byte(&content, '-');
    for (; content.at < content.end; content.at++) {
        if (*content.at == '.' && after < 0 && digits) {
            after = 0;
            continue;
        }
        if (!is_digit(*content.at) || ++digits > 38) return READ_LEFT;
        size = size * 10 + (wide)(*content.at - '0');
        if (after >= 0) after++;
    }
    if (!digits || !after || after > column->scale) return READ_LEFT;
    if (after < 0) after = 0;
    if (digits + column->scale - after > 38) return READ_LEFT;
    return put_decimal(column, out, row, negative, size * power_of_ten(column->scale - after));
}

enum { MOST_SCALE = 200 };

static int put_plain(read_values *out, int negative, wide size, int32_t scale) {
    char digits[40];
    int count = 0;
    if (scale > MOST_SCALE || scale < -MOST_SCALE) return READ_LEFT;
    if (!grow(out, MOST_SCALE + 48)) return READ_NO_MEMORY;
    do digits[count++] = (char)('0' + (int)(size % 10));
    while (size /= 10);
    char *to = out->text + out->size, *begin = to;
    int whole = count - (scale > 0 ? scale : 0);
    if (negative) *to++ = '-';
    if (whole < 1) *to++ = '0';
    for (int i = 0; i < whole; i++) *to++ = digits[count - 1 - i];
    if (scale > 0) {
        *to++ = '.';
        for (int i = whole; i < 0; i++) *to++ = '0';
        for (int i = whole > 0 ? whole : 0; i < count; i++) *to++ = digits[count - 1 - i];
    }
    if (!(count == 1 && digits[0] == '0'))
        for (int i = scale; i < 0; i++) *to++ = '0';
    out->size += (size_t)(to - begin);
    return READ_DONE;
}

static int scaled_text_value(reader *in, const read_column *column, read_values *out) {
    int negative;
    wide size;
    if (!unscaled(in, &negative, &size)) return READ_LEFT;
    return put_plain(out, negative, size, column->scale);
}

static int variable_text_value(reader *in, read_values *out) {
    int64_t scale;
    int negative;
    wide size;
    if (!takes(in, "{\"scale\":", 9) || !integer(in, &scale) || !takes(in, ",\"value\":", 9)) return READ_LEFT;
    if (!unscaled(in, &negative, &size) || !takes_byte(in, '}')) return READ_LEFT;
    if (scale > MOST_SCALE || scale < -MOST_SCALE) return READ_LEFT;
    return put_plain(out, negative, size, (int32_t)scale);
}

/* --- times */

static int64_t floor_div(int64_t value, int64_t unit) { return value / unit - (value % unit < 0); }

static int epoch_value(reader *in, const read_column *column, read_values *out, int64_t row) {
    int64_t value;
    if (!integer(in, &value)) return READ_LEFT;
    if (column->kind == READ_NANOS) value = floor_div(value, 1000);
    if (column->kind == READ_MILLIS && __builtin_mul_overflow(value, (int64_t)1000, &value)) return READ_LEFT;
    memcpy(out->fixed + row * 8, &value, 8);
    return READ_DONE;
}

static char *put_padded(char *to, int64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--, value /= 10) to[i] = (char)('0' + value % 10);
    return to + digits;
}

/* Days since 1970 of a date of the Gregorian calendar, carried back; and the other way round. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    int64_t shifted = year - (month <= 2), era = floor_div(shifted, 400), of_era = shifted - era * 400;
    int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static char *put_date(char *to, int64_t days) {
    int64_t shifted = days + 719468, era = floor_div(shifted, 146097), rest = shifted - era * 146097;
    int64_t of_era = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
    int64_t of_year = rest - (365 * of_era + of_era / 4 - of_era / 100), month = (5 * of_year + 2) / 153;
    int64_t day = of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    to = put_padded(to, of_era + era * 400 + (month <= 2), 4);
    *to++ = '-';
    to = put_padded(to, month, 2);
    *to++ = '-';
    return put_padded(to, day, 2);
}

static int nanos_text_value(reader *in, read_values *out) {
    int64_t value; /* of the years 1677 to 2262 */
    if (!integer(in, &value)) return READ_LEFT;
    if (!grow(out, 32)) return READ_NO_MEMORY;
    int64_t seconds = floor_div(value, 1000000000), days = floor_div(seconds, 86400), of_day = seconds - days * 86400;
    char *to = put_date(out->text + out->size, days);
    *to++ = ' ';
    to = put_padded(to, of_day / 3600, 2);
    *to++ = ':';
    to = put_padded(to, of_day / 60 % 60, 2);
    *to++ = ':';
    to = put_padded(to, of_day % 60, 2);
    *to++ = '.';
    put_padded(to, (value % 1000000000 + 1000000000) % 1000000000, 9);
    out->size += 29;
    return READ_DONE;
}

static int two_digits(const char *at, int64_t most) {
    int value = is_digit(at[0]) && is_digit(at[1]) ? (at[0] - '0') * 10 + at[1] - '0' : -1;
    return value <= most ? value : -1;
}

/* Oracle's calendar is the Julian one until 1582: 29 February 1500 is the day after the 28th, 1 March.
   yyyy-MM-ddTHH:mm:ss with up to nine digits of a second and a Z: its microseconds, and where its fraction is. */
static int iso(reader *in, reader *content, int64_t *micros) {
    static const int DAYS[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int escaped;
    if (!string(in, content, &escaped) || escaped || content->end - content->at < 20) return 0;
    const char *at = content->at;
    if (at[4] != '-' || at[7] != '-' || at[10] != 'T' || at[13] != ':' || at[16] != ':' || content->end[-1] != 'Z') return 0;
    int century = two_digits(at, 99), of_century = two_digits(at + 2, 99), month = two_digits(at + 5, 12);
    int day = two_digits(at + 8, 31), hour = two_digits(at + 11, 23), minute = two_digits(at + 14, 59), second = two_digits(at + 17, 59);
    int64_t year = century * 100 + of_century;
    if (century < 0 || of_century < 0 || year < 1 || month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0) return 0;
    if (day > DAYS[month - 1]) return 0;
    int64_t digits = content->end - at - 21, fraction = 0; /* after the point, before the Z */
    if (content->end - at > 20 && (at[19] != '.' || digits < 1 || digits > 9)) return 0;
    for (int64_t i = 0; i < 6; i++) fraction = fraction * 10 + (i < digits && is_digit(at[20 + i]) ? at[20 + i] - '0' : 0);
    for (int64_t i = 0; i < digits; i++)
        if (!is_digit(at[20 + i])) return 0;
    *micros = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    *micros = *micros * 1000000 + fraction;
    return 1;
}

static int iso_value(reader *in, read_values *out, int64_t row) {
    reader content;
    int64_t micros;
    if (!iso(in, &content, &micros)) return READ_LEFT;
    memcpy(out->fixed + row * 8, &micros, 8);
    return READ_DONE;
}

static int iso_text_value(reader *in, read_values *out) {
    reader content;
    int64_t micros;
    if (!iso(in, &content, &micros)) return READ_LEFT;
    if (!grow(out, 29)) return READ_NO_MEMORY;
    char *to = out->text + out->size;
    memcpy(to, content.at, 19);
    to[10] = ' ';
    to[19] = '.';
    memset(to + 20, '0', 9);
    if (content.end - content.at > 21) memcpy(to + 20, content.at + 20, (size_t)(content.end - content.at - 21));
    out->size += 29;
    return READ_DONE;
}

/* --- floating numbers, Booleans */

static int is_number(const char *at, const char *end) {
    if (at < end && *at == '-') at++;
    if (at >= end || !is_digit(*at) || (*at == '0' && at + 1 < end && is_digit(at[1]))) return 0;
    while (at < end && is_digit(*at)) at++;
    if (at < end && *at == '.') {
        if (++at >= end || !is_digit(*at)) return 0;
        while (at < end && is_digit(*at)) at++;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        if (at >= end || !is_digit(*at)) return 0;
        while (at < end && is_digit(*at)) at++;
    }
    return at == end;
}

static int floating_value(reader *in, const read_column *column, read_values *out, int64_t row) {
    double value;
    if (takes(in, "\"NaN\"", 5)) value = __builtin_nan("");
    else if (takes(in, "\"Infinity\"", 10)) value = __builtin_inf();
    else if (takes(in, "\"-Infinity\"", 11)) value = -__builtin_inf();
    else {
        const char *begin = in->at;
        if (!number_end(in) || !is_number(begin, in->at)) return READ_LEFT;
        if (in->at - begin == 2 && memcmp(begin, "-0", 2) == 0) return READ_LEFT;
        if (!read_double_text(begin, (size_t)(in->at - begin), &value) || __builtin_isinf(value)) return READ_LEFT;
        if (column->kind == READ_SINGLE && __builtin_isinf((float)value)) return READ_LEFT;
    }
    if (column->kind == READ_SINGLE) {
        float single = (float)value;
        memcpy(out->fixed + row * 4, &single, 4);
    } else {
        memcpy(out->fixed + row * 8, &value, 8);
    }
    return READ_DONE;
}

static int boolean_value(reader *in, read_values *out, int64_t row) {
    int value = takes(in, "true", 4);
    if (!value && !takes(in, "false", 5)) return READ_LEFT;
    out->fixed[row] = (char)value;
    return READ_DONE;
}

/* --- a row */

static int value_of(reader *in, const read_column *column, read_values *out, int64_t row) {
    switch (column->kind) {
    case READ_TEXT: return text_value(in, out);
    case READ_INTEGER: return integer_value(in, column, out, row);
    case READ_DECIMAL: return decimal_value(in, column, out, row);
    case READ_DECIMAL_TEXT: return decimal_text_value(in, column, out, row);
    case READ_SCALED_TEXT: return scaled_text_value(in, column, out);
    case READ_VARIABLE_TEXT: return variable_text_value(in, out);
    case READ_MILLIS:
    case READ_MICROS:
    case READ_NANOS: return epoch_value(in, column, out, row);
    case READ_NANOS_TEXT: return nanos_text_value(in, out);
    case READ_ISO: return iso_value(in, out, row);
    case READ_ISO_TEXT: return iso_text_value(in, out);
    case READ_BASE64:
    case READ_BASE64_URL:
    case READ_HEX: return bytes_value(in, out, column->kind);
    case READ_SINGLE:
    case READ_DOUBLE: return floating_value(in, column, out, row);
    case READ_BOOLEAN: return boolean_value(in, out, row);
    }
    return READ_LEFT;
}

static int ends_value(const reader *in) { return in->at < in->end && (*in->at == ',' || *in->at == '}'); }

/* The members of an object that are columns. A member that is there twice is left to others. */
static int members(reader *in, const read_column *columns, uint32_t count, read_values *values, int64_t row) {
    uint32_t next = 0, found;
    reader name;
    int escaped, status;
    if (takes(in, "null", 4)) return READ_DONE;
    if (!takes_byte(in, '{')) return READ_LEFT;
    if (takes_byte(in, '}')) return READ_DONE;
    do {
        if (!string(in, &name, &escaped) || escaped || !takes_byte(in, ':')) return READ_LEFT;
        uint32_t size = (uint32_t)(name.end - name.at);
        for (found = 0; found < count; found++, next = next + 1 < count ? next + 1 : 0) {
            if (columns[next].member_size == size && memcmp(columns[next].member, name.at, size) == 0) break;
        }
        if (found == count) { /* not a column of the lake; `next` is where it was */
            if (!skip(in)) return READ_LEFT;
            continue;
        }
        uint8_t bit = (uint8_t)(1 << (row & 7));
        if (values[next].valid[row >> 3] & bit) return READ_LEFT;
        if (!takes(in, "null", 4)) {
            if ((status = value_of(in, &columns[next], &values[next], row)) != READ_DONE) return status;
            if (values[next].size > INT32_MAX) return READ_LEFT;
            values[next].valid[row >> 3] |= bit;
        }
        if (!ends_value(in)) return READ_LEFT;
        next = next + 1 < count ? next + 1 : 0;
    } while (takes_byte(in, ','));
    return takes_byte(in, '}') ? READ_DONE : READ_LEFT;
}

/* Goes to the member of a name in an object; 0 where there is none, -1 where the text is not ours. */
static int to_member(reader *in, const char *wanted, size_t wanted_size) {
    reader name;
    int escaped;
    if (!takes_byte(in, '{')) return -1;
    if (takes_byte(in, '}')) return 0;
    do {
        if (!string(in, &name, &escaped) || escaped || !takes_byte(in, ':')) return -1;
        if ((size_t)(name.end - name.at) == wanted_size && memcmp(name.at, wanted, wanted_size) == 0) return 1;
        if (!skip(in)) return -1;
    } while (takes_byte(in, ','));
    return takes_byte(in, '}') ? 0 : -1;
}

int read_row(const read_table *table, const char *key, size_t key_size, const char *value, size_t value_size, int before, int64_t row) {
    reader in = {value, value + value_size};
    read_values *keys = table->values + table->count;
    int found = table->value_wrapped ? to_member(&in, "payload", 7) : 1, status;
    if (found != 1) return READ_LEFT;
    if ((found = before ? to_member(&in, "before", 6) : to_member(&in, "after", 5)) < 0) return READ_LEFT;
    if (found && (status = members(&in, table->columns, table->count, table->values, row)) != READ_DONE) return status;
    if (found && !ends_value(&in)) return READ_LEFT;
    if (key != NULL && table->key_count) {
        reader of_key = {key, key + key_size};
        if (table->key_wrapped && to_member(&of_key, "payload", 7) != 1) return READ_LEFT;
        if ((status = members(&of_key, table->keys, table->key_count, keys, row)) != READ_DONE) return status;
        if (table->key_wrapped && !takes_byte(&of_key, '}')) return READ_LEFT;
        if (of_key.at != of_key.end) return READ_LEFT;
    }
    for (uint32_t i = 0; i < table->count + table->key_count; i++) {
        read_values *out = &table->values[i];
        if (out->offsets) out->offsets[row + 1] = (int32_t)out->size;
        out->nulls += !(out->valid[row >> 3] >> (row & 7) & 1);
    }
    return READ_DONE;
}

/* --- the last change of each row */

static uint64_t hash_of(uint64_t hash, const char *at, int32_t size) {
    uint64_t word;
    for (; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; size > 0; size--, at++) hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static int same(const char *left, int32_t left_size, const char *right, int32_t right_size) {
    return left_size == right_size && (left_size <= 0 || memcmp(left, right, (size_t)left_size) == 0);
}

static int is_later(const read_change *one, const read_change *other, int alive) {
    if (one->commit_scn != other->commit_scn) return one->commit_scn > other->commit_scn;
    if (alive && one->is_delete != other->is_delete) return !one->is_delete;
    if (one->seq != other->seq) return one->seq > other->seq;
    return one->offset > other->offset;
}

/* Keeps of what is kept the last change by key, and by ROWID too where `by_row`. */
static void keep_last(const read_change *changes, int64_t count, int by_row, int alive, uint8_t *kept, int64_t *places, uint64_t mask) {
    for (uint64_t i = 0; i <= mask; i++) places[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        const read_change *one = &changes[i];
        if (!kept[i]) continue;
        uint64_t at = hash_of(14695981039346656037u, one->key, one->key_size);
        if (by_row) at = hash_of(at, one->row_id, one->row_id_size);
        for (at &= mask; places[at] >= 0; at = (at + 1) & mask) {
            const read_change *other = &changes[places[at]];
            if (!same(one->key, one->key_size, other->key, other->key_size)) continue;
            if (by_row && !same(one->row_id, one->row_id_size, other->row_id, other->row_id_size)) continue;
            break;
        }
        if (places[at] < 0) {
            places[at] = i;
        } else if (is_later(one, &changes[places[at]], alive)) {
            kept[places[at]] = 0;
            places[at] = i;
        } else {
            kept[i] = 0;
        }
    }
}

int last_changes(const read_change *changes, int64_t count, int by_row, uint8_t *kept) {
    uint64_t room = 16;
    while (room < (uint64_t)count * 2) room *= 2;
    int64_t *places = malloc(room * sizeof *places);
    if (!places) return 0;
    memset(kept, 1, (size_t)count);
    if (by_row) keep_last(changes, count, 1, 0, kept, places, room - 1);
    keep_last(changes, count, 0, by_row, kept, places, room - 1);
    free(places);
    return 1;
}
