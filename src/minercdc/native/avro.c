#include "avro.h"

#include <math.h>
#include <string.h>

double_of read_double;

/* What a value takes at most besides the bytes that it has in JSON: the branch of its union, and a number. */
#define OVERHEAD 11

typedef struct {
    const char *at, *end;
    char *to; /* there is room for OVERHEAD bytes a field, and for all bytes of the JSON */
    const avro_field *fields;
} reader;

static int takes(reader *in, const char *text, size_t size) {
    if ((size_t)(in->end - in->at) < size || memcmp(in->at, text, size) != 0) return 0;
    in->at += size;
    return 1;
}

static void put_byte(reader *in, int byte) { *in->to++ = (char)byte; }

static void put_bytes(reader *in, const char *bytes, size_t size) {
    memcpy(in->to, bytes, size);
    in->to += size;
}

static void put_long(reader *in, int64_t value) {
    uint64_t rest = value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
    for (; rest > 127; rest >>= 7) put_byte(in, (int)(rest & 127) | 128);
    put_byte(in, (int)rest);
}

static int is_digit(const reader *in) { return in->at < in->end && *in->at >= '0' && *in->at <= '9'; }

static int integer(reader *in, uint8_t bits) {
    int negative = takes(in, "-", 1);
    uint64_t size = 0, most = ((uint64_t)1 << (bits - 1)) - !negative;
    const char *begin = in->at;
    for (; is_digit(in); in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        if (size > (most - digit) / 10) return 0;
        size = size * 10 + digit;
    }
    if (in->at == begin || (*begin == '0' && in->at - begin > 1)) return 0;
    put_long(in, negative ? (int64_t)(~size + 1) : (int64_t)size);
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

static int floating(reader *in, int is_single) {
    double value;
    if (takes(in, "\"NaN\"", 5)) {
        put_bytes(in, is_single ? "\0\0\xc0\x7f" : "\0\0\0\0\0\0\xf8\x7f", is_single ? 4 : 8);
        return 1;
    }
    if (takes(in, "\"Infinity\"", 10)) value = INFINITY;
    else if (takes(in, "\"-Infinity\"", 11)) value = -INFINITY;
    else {
        const char *begin = in->at;
        if (!number_text(in) || !read_double(begin, (size_t)(in->at - begin), &value)) return 0;
        if (in->at - begin == 2 && memcmp(begin, "-0", 2) == 0) return 0; /* an integer to Python, which has one zero */
        if (!isfinite(value) || (is_single && fabs(value) > 3.4028234663852886e38)) return 0; /* rounding there is Python's */
    }
    uint64_t image = 0;
    if (is_single) {
        float single = (float)value;
        uint32_t short_image;
        memcpy(&short_image, &single, sizeof short_image);
        image = short_image;
    } else {
        memcpy(&image, &value, sizeof image);
    }
    for (int i = 0; i < (is_single ? 4 : 8); i++) put_byte(in, (int)(image >> 8 * i & 255));
    return 1;
}

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that an escape stands for, after its backslash; -1 for what is more than a byte of ASCII. */
static int escaped(const char **at, const char *end) {
    static const char *const NAMES = "\"\\/bfnrt", *const BYTES = "\"\\/\b\f\n\r\t";
    if (*at >= end) return -1;
    char c = *(*at)++;
    const char *found = c ? strchr(NAMES, c) : NULL;
    if (found) return (unsigned char)BYTES[found - NAMES];
    if (c != 'u' || end - *at < 4) return -1;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_of(*(*at)++);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code < 128 ? code : -1;
}

static int string(reader *in) {
    if (!takes(in, "\"", 1)) return 0;
    const char *begin = in->at, *at = begin;
    size_t size = 0;
    int plain = 1;
    for (;; size++) {
        if (at >= in->end) return 0;
        unsigned char c = (unsigned char)*at++;
        if (c == '"') break;
        if (c < 32) return 0;
        if (c == '\\') {
            plain = 0;
            if (escaped(&at, in->end) < 0) return 0;
        }
    }
    put_long(in, (int64_t)size);
    in->at = at;
    if (plain) {
        put_bytes(in, begin, size);
        return 1;
    }
    for (at = begin; size > 0; size--) {
        char c = *at++;
        put_byte(in, c == '\\' ? escaped(&at, in->end) : c);
    }
    return 1;
}

static int base64_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int base64(reader *in) {
    if (!takes(in, "\"", 1)) return 0;
    const char *begin = in->at, *end = memchr(begin, '"', (size_t)(in->end - begin));
    if (end == NULL || (end - begin) % 4) return 0;
    size_t size = (size_t)(end - begin), padding = 0;
    while (padding < 2 && padding < size && end[-1 - (ptrdiff_t)padding] == '=') padding++;
    put_long(in, (int64_t)(size / 4 * 3 - padding));
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
        for (size_t j = 1; j < count; j++) put_byte(in, (int)(group >> (24 - 8 * j) & 255));
    }
    return 1;
}

static int value_of(reader *in, uint32_t number) {
    const avro_field *field = &in->fields[number];
    if (field->null != AVRO_REQUIRED) {
        int is_null = takes(in, "null", 4);
        put_byte(in, is_null == (field->null == AVRO_NULL_FIRST) ? 0 : 2);
        if (is_null) return 1;
    }
    switch (field->kind) {
    case AVRO_BOOLEAN: {
        int is_true = takes(in, "true", 4);
        put_byte(in, is_true);
        return is_true || takes(in, "false", 5);
    }
    case AVRO_INTEGER: return integer(in, field->bits);
    case AVRO_FLOAT: return floating(in, 1);
    case AVRO_DOUBLE: return floating(in, 0);
    case AVRO_STRING: return string(in);
    case AVRO_BYTES: return base64(in);
    default: break;
    }
    if (number + 1 == field->next) return takes(in, "{}", 2);
    for (uint32_t member = number + 1; member < field->next; member = in->fields[member].next) {
        if (!takes(in, in->fields[member].member, in->fields[member].member_size) || !value_of(in, member)) return 0;
    }
    return takes(in, "}", 1);
}

int avro_write(buffer *out, const avro_field *fields, const char *json, size_t size) {
    if (!reserve(out, (size_t)fields[0].next * OVERHEAD + size)) return 0;
    reader in = {json, json + size, out->data + out->size, fields};
    if (!value_of(&in, 0) || in.at != in.end) return 0;
    out->size = (size_t)(in.to - out->data);
    return 1;
}
