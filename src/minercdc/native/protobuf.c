#include "protobuf.h"

#include <math.h>
#include <string.h>

#include "avro.h" /* read_double */

/* What a value takes at most besides the bytes that it has in JSON: its tag, a length and a number, or those of a message of ours. */
#define OVERHEAD 48

enum wire { WIRE_VARINT = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2, WIRE_FLOAT = 5 };

typedef struct {
    const char *at, *end;
    unsigned char *to; /* there is room for OVERHEAD bytes a field, and for all bytes of the JSON */
    const protobuf_field *fields;
} reader;

static int takes(reader *in, const char *text, size_t size) {
    if ((size_t)(in->end - in->at) < size || memcmp(in->at, text, size) != 0) return 0;
    in->at += size;
    return 1;
}

static void put_varint(reader *in, uint64_t value) {
    for (; value > 127; value >>= 7) *in->to++ = (unsigned char)(value | 128);
    *in->to++ = (unsigned char)value;
}

static void put_tag(reader *in, uint32_t number, enum wire wire) { put_varint(in, (uint64_t)number << 3 | wire); }

/* A field of a message of ours: a zero is left out. */
static void put_number(reader *in, uint32_t number, int64_t value) {
    if (value == 0) return;
    put_tag(in, number, WIRE_VARINT);
    put_varint(in, (uint64_t)value);
}

/* Begin something with a length, for which a byte is left free; the result is for `end_bytes`. */
static unsigned char *begin_bytes(reader *in, uint32_t number) {
    put_tag(in, number, WIRE_BYTES);
    return in->to++;
}

static void end_bytes(reader *in, unsigned char *begin) {
    size_t size = (size_t)(in->to - begin) - 1, more = 0;
    for (size_t rest = size; rest > 127; rest >>= 7) more++;
    if (more) memmove(begin + 1 + more, begin + 1, size);
    in->to = begin;
    put_varint(in, size);
    in->to += size;
}

static int is_digit(const reader *in) { return in->at < in->end && *in->at >= '0' && *in->at <= '9'; }

static int read_integer(reader *in, uint8_t bits, int64_t *value) {
    int negative = takes(in, "-", 1);
    uint64_t size = 0, most = ((uint64_t)1 << (bits - 1)) - !negative;
    const char *begin = in->at;
    for (; is_digit(in); in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        if (digit > most || size > (most - digit) / 10) return 0;
        size = size * 10 + digit;
    }
    if (in->at == begin || (*begin == '0' && in->at - begin > 1)) return 0;
    *value = negative ? (int64_t)(~size + 1) : (int64_t)size;
    return 1;
}

static int digits(reader *in) {
    const char *begin = in->at;
    while (is_digit(in)) in->at++;
    return in->at > begin;
}

/* The text of a number of JSON, which may have a fraction and an exponent. */
static int number_text(reader *in) {
    takes(in, "-", 1);
    if (!takes(in, "0", 1) && !digits(in)) return 0;
    if (takes(in, ".", 1) && !digits(in)) return 0;
    if (takes(in, "e", 1) || takes(in, "E", 1)) {
        if (!takes(in, "+", 1)) takes(in, "-", 1);
        return digits(in);
    }
    return 1;
}

static int read_floating(reader *in, int is_single, uint64_t *image) {
    double value;
    if (takes(in, "\"NaN\"", 5)) {
        *image = is_single ? 0x7fc00000 : 0x7ff8000000000000;
        return 1;
    }
    if (takes(in, "\"Infinity\"", 10)) value = INFINITY;
    else if (takes(in, "\"-Infinity\"", 11)) value = -INFINITY;
    else {
        const char *begin = in->at;
        if (!number_text(in) || !read_double(begin, (size_t)(in->at - begin), &value)) return 0;
        if (value == 0 && *begin == '-') return 0; /* whether a zero below zero is written is not for us to say */
        if (!isfinite(value) || (is_single && fabs(value) > 3.4028234663852886e38)) return 0; /* rounding there is Python's */
    }
    *image = 0;
    if (is_single) {
        float single = (float)value;
        uint32_t short_image;
        memcpy(&short_image, &single, sizeof short_image);
        if (single == 0 && value < 0) return 0;
        *image = short_image;
    } else {
        memcpy(image, &value, sizeof *image);
    }
    return 1;
}

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that an escape stands for, after its backslash; -1 for what is more than a byte of ASCII. */
static int escaped(reader *in) {
    static const char NAMES[] = "\"\\/bfnrt", BYTES[] = "\"\\/\b\f\n\r\t";
    if (in->at >= in->end) return -1;
    char c = *in->at++;
    const char *found = memchr(NAMES, c, sizeof NAMES - 1);
    if (found) return (unsigned char)BYTES[found - NAMES];
    if (c != 'u' || in->end - in->at < 4) return -1;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_of(*in->at++);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code < 128 ? code : -1;
}

static int put_string(reader *in) {
    if (!takes(in, "\"", 1)) return 0;
    for (;;) {
        const char *begin = in->at;
        while (in->at < in->end && *in->at != '"' && *in->at != '\\' && (unsigned char)*in->at >= 32) in->at++;
        memcpy(in->to, begin, (size_t)(in->at - begin));
        in->to += in->at - begin;
        if (in->at == in->end || (unsigned char)*in->at < 32) return 0;
        if (*in->at++ == '"') return 1;
        int byte = escaped(in);
        if (byte < 0) return 0;
        *in->to++ = (unsigned char)byte;
    }
}

static int base64_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int put_base64(reader *in) {
    if (!takes(in, "\"", 1)) return 0;
    const char *begin = in->at, *end = memchr(begin, '"', (size_t)(in->end - begin));
    if (end == NULL || (end - begin) % 4) return 0;
    size_t size = (size_t)(end - begin), padding = 0;
    while (padding < 2 && padding < size && end[-1 - (ptrdiff_t)padding] == '=') padding++;
    in->at = end + 1;
    for (size_t i = 0; i < size; i += 4) {
        size_t count = i + 4 == size ? 4 - padding : 4; /* characters that are no padding */
        uint32_t group = 0;
        for (size_t j = 0; j < 4; j++) {
            int part = j < count ? base64_of(begin[i + j]) : 0;
            if (part < 0) return 0;
            group = group << 6 | (uint32_t)part;
        }
        if (group & (count == 2 ? 0xffff : count == 3 ? 0xff : 0)) return 0;
        for (size_t j = 1; j < count; j++) *in->to++ = (unsigned char)(group >> (24 - 8 * j));
    }
    return 1;
}

static int put_scalar(reader *in, const protobuf_field *field, uint32_t number, int keeps_zero) {
    unsigned char *begin = in->to;
    int is_zero = 0;
    if (field->kind == PROTOBUF_BOOLEAN) {
        is_zero = takes(in, "false", 5);
        if (!is_zero && !takes(in, "true", 4)) return 0;
        put_tag(in, number, WIRE_VARINT);
        put_varint(in, !is_zero);
    } else if (field->kind == PROTOBUF_INTEGER) {
        int64_t value;
        if (!read_integer(in, field->bits, &value)) return 0;
        is_zero = value == 0;
        put_tag(in, number, WIRE_VARINT);
        put_varint(in, (uint64_t)value);
    } else if (field->kind == PROTOBUF_FLOAT || field->kind == PROTOBUF_DOUBLE) {
        int is_single = field->kind == PROTOBUF_FLOAT;
        uint64_t image;
        if (!read_floating(in, is_single, &image)) return 0;
        is_zero = image == 0;
        put_tag(in, number, is_single ? WIRE_FLOAT : WIRE_DOUBLE);
        for (int i = 0; i < (is_single ? 4 : 8); i++) *in->to++ = (unsigned char)(image >> 8 * i);
    } else {
        unsigned char *content = begin_bytes(in, number);
        if (!(field->kind == PROTOBUF_STRING ? put_string : put_base64)(in)) return 0;
        is_zero = in->to == content + 1;
        end_bytes(in, content);
    }
    if (is_zero && !keeps_zero) in->to = begin;
    return 1;
}

static int put_decimal(reader *in, int32_t scale) {
    unsigned char *content = begin_bytes(in, 1);
    if (!put_base64(in)) return 0;
    size_t size = (size_t)(in->to - content) - 1;
    if (size == 0 || size > 16) return 0;
    unsigned __int128 value = content[1] & 128 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 1; i <= size; i++) value = value << 8 | content[i];
    if (content[1] & 128) value = ~value + 1;
    int64_t count = 1;
    for (; value > 9; value /= 10) count++;
    end_bytes(in, content);
    put_number(in, 2, count);
    put_number(in, 3, scale);
    return 1;
}

static int put_date(reader *in) {
    int64_t days;
    if (!read_integer(in, 32, &days) || days < -719162 || days > 2932896) return 0; /* of the years 1 to 9999 */
    int64_t of_era = days + 719468, era = of_era / 146097;
    of_era %= 146097;
    int64_t of_eras = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * of_eras + of_eras / 4 - of_eras / 100), month = (5 * of_year + 2) / 153;
    int64_t day = of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    put_number(in, 1, era * 400 + of_eras + (month <= 2));
    put_number(in, 2, month);
    put_number(in, 3, day);
    return 1;
}

static int put_time(reader *in) {
    int64_t ms;
    if (!read_integer(in, 32, &ms) || ms < 0 || ms >= 86400000) return 0;
    put_number(in, 1, ms / 3600000);
    put_number(in, 2, ms / 60000 % 60);
    put_number(in, 3, ms / 1000 % 60);
    put_number(in, 4, ms % 1000 * 1000000);
    return 1;
}

static int put_stamp(reader *in) {
    int64_t ms;
    if (!read_integer(in, 64, &ms)) return 0;
    int64_t rest = ms % 1000, seconds = ms / 1000;
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    put_number(in, 1, seconds);
    put_number(in, 2, rest * 1000000);
    return 1;
}

static int put_members(reader *in, uint32_t place);

static int put_field(reader *in, uint32_t place) {
    const protobuf_field *field = &in->fields[place];
    if (field->may_be_null && takes(in, "null", 4)) return 1;
    if (field->kind < PROTOBUF_MESSAGE && field->presence != PROTOBUF_WRAPPED)
        return put_scalar(in, field, field->number, field->presence == PROTOBUF_EXPLICIT);
    unsigned char *begin = begin_bytes(in, field->number);
    int done;
    switch (field->kind) {
    case PROTOBUF_MESSAGE: done = put_members(in, place); break;
    case PROTOBUF_DECIMAL: done = put_decimal(in, field->scale); break;
    case PROTOBUF_DATE: done = put_date(in); break;
    case PROTOBUF_TIME: done = put_time(in); break;
    case PROTOBUF_STAMP: done = put_stamp(in); break;
    default: done = put_scalar(in, field, 1, 0);
    }
    if (!done) return 0;
    end_bytes(in, begin);
    return 1;
}

static int put_members(reader *in, uint32_t place) {
    const protobuf_field *fields = in->fields;
    if (place + 1 == fields[place].next) return takes(in, "{}", 2);
    for (uint32_t i = place + 1; i < fields[place].next; i = fields[i].next)
        if (!takes(in, fields[i].member, fields[i].member_size) || !put_field(in, i)) return 0;
    return takes(in, "}", 1);
}

int protobuf_write(buffer *out, const protobuf_field *fields, const char *json, size_t size) {
    if (!reserve(out, (size_t)fields[0].next * OVERHEAD + size)) return 0;
    unsigned char *begin = (unsigned char *)out->data + out->size;
    reader in = {json, json + size, begin, fields};
    if (!put_members(&in, 0) || in.at != in.end) return 0;
    out->size += (size_t)(in.to - begin);
    return 1;
}
