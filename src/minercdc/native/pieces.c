#define _GNU_SOURCE /* memmem */
#include "pieces.h"

#include <string.h>

#define DEEPEST 16
#define PUT(out, text) put(out, text, sizeof(text) - 1)

typedef struct {
    const char *at, *end;
    const node *nodes;
    place *places;
} reader;

static int takes(reader *in, const char *text, size_t size) {
    if ((size_t)(in->end - in->at) < size || memcmp(in->at, text, size) != 0) return 0;
    in->at += size;
    return 1;
}

/* Pass a text, after its first quote. */
static int pass_text(reader *in) {
    for (const char *from = in->at;;) {
        const char *quote = memchr(from, '"', (size_t)(in->end - from)), *before = quote;
        if (quote == NULL) return 0;
        while (before > in->at && before[-1] == '\\') before--;
        from = quote + 1;
        if ((quote - before) % 2 == 0) {
            in->at = from;
            return 1;
        }
    }
}

/* Pass a text, number, boolean or null. */
static int pass_value(reader *in) {
    const char *begin = in->at;
    if (takes(in, "\"", 1)) return pass_text(in);
    while (in->at < in->end && *in->at != ',' && *in->at != '}') {
        if (*in->at == '"' || *in->at == '{' || *in->at == '[' || (unsigned char)*in->at <= ' ') return 0;
        in->at++;
    }
    return in->at > begin;
}

static void are_nowhere(reader *in, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) in->places[i].at = NULL;
}

static int find_value(reader *in, uint32_t number, int depth);

/* The members of a struct, and its braces. */
static int find_members(reader *in, uint32_t number, int depth) {
    const node *nodes = in->nodes;
    if (depth > DEEPEST) return 0;
    for (uint32_t i = number + 1; i < nodes[number].next; i = nodes[i].next) {
        if (nodes[i].kind == NODE_REST) {
            are_nowhere(in, i, nodes[number].next);
            in->at = in->end;
            return 1;
        }
        if (!takes(in, nodes[i].member, nodes[i].member_size) || !find_value(in, i, depth + 1)) return 0;
    }
    return takes(in, "}", 1);
}

static int find_value(reader *in, uint32_t number, int depth) {
    const node *one = &in->nodes[number];
    const char *begin = in->at;
    if (one->kind == NODE_WHOLE) {
        in->at = in->end;
    } else if (one->kind != NODE_VALUE && takes(in, "null", 4)) {
        are_nowhere(in, number + 1, one->next);
    } else if (one->kind == NODE_VALUE) {
        if (!pass_value(in)) return 0;
    } else if (one->kind == NODE_PASSED) {
        const char *found = memmem(in->at, (size_t)(in->end - in->at), one->until, one->until_size);
        if (found == NULL || *begin != '{') return 0;
        are_nowhere(in, number + 1, one->next);
        in->at = found + 1;
    } else if (number + 1 == one->next) {
        if (!takes(in, "{}", 2)) return 0;
    } else if (!find_members(in, number, depth)) {
        return 0;
    }
    in->places[number].at = begin;
    in->places[number].size = (size_t)(in->at - begin);
    return 1;
}

int find_places(const node *nodes, uint32_t first, const char *json, size_t size, place *places) {
    reader in = {json, json + size, nodes, places};
    return find_value(&in, first, 0) && in.at == in.end;
}

int is_null(const place *value) { return value->size == 4 && memcmp(value->at, "null", 4) == 0; }

static int is_text(const place *value) { return value->size >= 2 && value->at[0] == '"'; }

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

int put_content(buffer *out, const place *text) {
    static const char NAMES[] = "\"\\/bfnrt", BYTES[] = "\"\\/\b\f\n\r\t";
    if (!is_text(text)) return 0;
    const char *at = text->at + 1, *end = text->at + text->size - 1;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        put(out, at, (size_t)((escape ? escape : end) - at));
        if (escape == NULL) break;
        at = escape + 2;
        if (at > end) return 0;
        const char *found = memchr(NAMES, at[-1], sizeof NAMES - 1);
        char c = 0;
        if (found) {
            c = BYTES[found - NAMES];
        } else {
            int code = 0;
            if (at[-1] != 'u' || end - at < 4) return 0;
            for (int i = 0; i < 4; i++) {
                int digit = hex_of(*at++);
                if (digit < 0) return 0;
                code = code * 16 + digit;
            }
            if (code > 127) return 0;
            c = (char)code;
        }
        put(out, &c, 1);
    }
    return 1;
}

static void put_two(char *to, int value) {
    to[0] = (char)('0' + value / 10);
    to[1] = (char)('0' + value % 10);
}

/* A moment of the years 1 to 9999. */
static int put_time(buffer *out, const place *value) {
    char text[] = "YYYY-MM-DDTHH:MM:SS.mmmZ";
    int64_t ms = 0;
    size_t at = 0, negative = value->size > 0 && value->at[0] == '-';
    if (value->size == negative || value->size > 16 + negative) return 0;
    for (at = negative; at < value->size; at++) {
        if (value->at[at] < '0' || value->at[at] > '9') return 0;
        ms = ms * 10 + (value->at[at] - '0');
    }
    if (negative) ms = -ms;
    if (ms < -62135596800000 || ms > 253402300799999) return 0;
    int64_t shifted = ms + 62135596800000 + (int64_t)306 * 86400000; /* since 0000-03-01 */
    int64_t days = shifted / 86400000, of_day = shifted % 86400000;
    int64_t era = days / 146097, of_era = days % 146097;
    int64_t of_eras = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * of_eras + of_eras / 4 - of_eras / 100), month = (5 * of_year + 2) / 153;
    int day = (int)(of_year - (153 * month + 2) / 5 + 1);
    month = month < 10 ? month + 3 : month - 9;
    int year = (int)(era * 400 + of_eras + (month <= 2));
    put_two(text, year / 100);
    put_two(text + 2, year % 100);
    put_two(text + 5, (int)month);
    put_two(text + 8, day);
    put_two(text + 11, (int)(of_day / 3600000));
    put_two(text + 14, (int)(of_day / 60000 % 60));
    put_two(text + 17, (int)(of_day / 1000 % 60));
    text[20] = (char)('0' + of_day % 1000 / 100);
    put_two(text + 21, (int)(of_day % 100));
    put(out, text, sizeof text - 1);
    return 1;
}

static int write_piece(buffer *out, const text_piece *one, const place *places) {
    const place *value = &places[one->first];
    if (one->kind == PIECE_TEXT) {
        put(out, one->text, one->text_size);
        return 1;
    }
    if (value->at == NULL) {
        if (one->kind != PIECE_OR_NULL) return 0;
        PUT(out, "null");
        return 1;
    }
    switch (one->kind) {
    case PIECE_COPY:
        if (places[one->last].at == NULL || places[one->last].at < value->at) return 0;
        put(out, value->at, (size_t)(places[one->last].at + places[one->last].size - value->at));
        return 1;
    case PIECE_OPEN:
        if (value->size < 2 || value->at[0] != '{') return 0;
        put(out, value->at, value->size - 1);
        return 1;
    case PIECE_IS_NULL: return is_null(value);
    case PIECE_TIME: return put_time(out, value);
    case PIECE_GIVEN:
        if (is_null(value) || (is_text(value) && value->size == 2)) return 0;
        break;
    default: break;
    }
    if (one->kind == PIECE_MASKED && !is_null(value)) {
        put(out, one->text, one->text_size);
    } else if (one->kind == PIECE_QUOTED && !is_null(value)) {
        if (is_text(value)) return 0;
        PUT(out, "\"");
        put(out, value->at, value->size);
        PUT(out, "\"");
    } else if (one->kind == PIECE_SUFFIXED && !is_null(value)) {
        put(out, value->at, value->size);
        put(out, one->text, one->text_size);
    } else if ((one->kind == PIECE_BARE || one->kind == PIECE_GIVEN) && is_text(value)) {
        put(out, value->at + 1, value->size - 2);
    } else {
        put(out, value->at, value->size);
    }
    return 1;
}

int write_pieces(buffer *out, const text_piece *pieces, size_t count, const place *places) {
    for (size_t i = 0; i < count; i++)
        if (!write_piece(out, &pieces[i], places)) return 0;
    return !out->failed;
}
