/* Damaged records through the decoder of the lake, built with the address and undefined-behaviour sanitizers: fuzz_decode INPUTS SEED.

   Each key and value lies in memory of exactly its size, so that a byte read beyond it is found. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 3
#define MOST 2048
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MEMBER(name) name, sizeof(name) - 1
static const read_column COLUMNS[] = {
    {MEMBER("T"), READ_TEXT, 0, 0, 0},        {MEMBER("I"), READ_INTEGER, 2, 0, 0},      {MEMBER("J"), READ_INTEGER, 8, 0, 1},
    {MEMBER("D"), READ_DECIMAL, 16, 38, 2},   {MEMBER("E"), READ_DECIMAL_TEXT, 16, 20, 5}, {MEMBER("S"), READ_SCALED_TEXT, 0, 0, 40},
    {MEMBER("V"), READ_VARIABLE_TEXT, 0, 0, 0}, {MEMBER("M"), READ_MILLIS, 8, 0, 0},     {MEMBER("U"), READ_MICROS, 8, 0, 0},
    {MEMBER("N"), READ_NANOS, 8, 0, 0},       {MEMBER("A"), READ_NANOS_TEXT, 0, 0, 0},   {MEMBER("O"), READ_ISO, 8, 0, 0},
    {MEMBER("P"), READ_ISO_TEXT, 0, 0, 0},    {MEMBER("B"), READ_BASE64, 0, 0, 0},       {MEMBER("W"), READ_BASE64_URL, 0, 0, 0},
    {MEMBER("H"), READ_HEX, 0, 0, 0},         {MEMBER("F"), READ_SINGLE, 4, 0, 0},       {MEMBER("G"), READ_DOUBLE, 8, 0, 0},
    {MEMBER("L"), READ_BOOLEAN, 1, 0, 0},
};
static const read_column KEYS[] = {{MEMBER("ID"), READ_INTEGER, 4, 0, 0}, {MEMBER("K"), READ_TEXT, 0, 0, 0}};
#define ALL (COUNT(COLUMNS) + COUNT(KEYS))

static const char *const VALUES[] = {
    "{\"before\":null,\"after\":{\"T\":\"it's \\\"x\\\"\\\\\\u00e9\\ud83d\\ude00\",\"I\":-7,\"J\":\"12\",\"D\":\"AP8Q\",\"E\":\"-1.5\",\"S\":\"AQ==\","
    "\"V\":{\"scale\":-3,\"value\":\"/w==\"},\"M\":-1,\"U\":9223372036854775807,\"N\":-1,\"A\":-9223372036854775808}}",
    "{\"before\":{\"O\":\"1500-02-29T00:00:00Z\",\"P\":\"2026-02-28T13:45:59.123456789Z\",\"B\":\"AP8Q\",\"W\":\"-_8=\",\"H\":\"0aff\",\"F\":1.5,"
    "\"G\":\"NaN\",\"L\":true,\"OTHER\":[{\"a\":\"}\"},2]},\"after\":null}",
};
static const char *const KEY_TEXTS[] = {"{\"ID\":7,\"K\":\"x\\n\"}", "{\"K\":null,\"ID\":-2147483648}"};
static const char *const SPLICES[] = {
    "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "\\ud83d", "\\u00", "=", "==", "-", ".", "Z", "9999999999999999999", "AAAAAAAAAAAAAAAAAAAAAAAA",
    "\"scale\":-200", "\"scale\":2147483647", "e308", "\xff", "true", "\"after\":", "\"before\":", "\"T\":\"a\",", "00",
};

static uint64_t state;

static uint32_t below(uint32_t most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % most;
}

static int number(const char *text, size_t size, double *value) {
    char ended[80];
    if (size >= sizeof ended) return 0;
    memcpy(ended, text, size);
    ended[size] = 0;
    *value = strtod(ended, NULL);
    return 1;
}

/* A damaged text in memory of its size. */
static char *damaged(const char *seed, size_t *size) {
    char text[MOST];
    *size = strlen(seed);
    memcpy(text, seed, *size);
    for (uint32_t n = below(4); n > 0; n--) {
        const char *splice = below(3) ? SPLICES[below(COUNT(SPLICES))] : "";
        size_t at = below((uint32_t)*size + 1), cut = below(6), more = strlen(splice);
        if (cut > *size - at) cut = *size - at;
        if (*size - cut + more > MOST) break;
        memmove(text + at + more, text + at + cut, *size - at - cut);
        memcpy(text + at, splice, more);
        *size += more - cut;
    }
    char *exact = malloc(*size ? *size : 1);
    if (!exact) abort();
    memcpy(exact, text, *size);
    return exact;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long inputs = atol(arguments[1]), accepted = 0;
    state = (uint64_t)atol(arguments[2]) * 0x9e3779b97f4a7c15u + 1;
    read_double_text = number;
    for (long n = 0; n < inputs; n++) {
        read_values values[ALL] = {{0}};
        for (size_t i = 0; i < ALL; i++) {
            uint8_t width = i < COUNT(COLUMNS) ? COLUMNS[i].width : KEYS[i - COUNT(COLUMNS)].width;
            values[i].valid = calloc(1, 1);
            if (width) values[i].fixed = calloc(ROWS, width);
            else values[i].offsets = calloc(ROWS + 1, sizeof(int32_t));
        }
        read_table table = {COLUMNS, KEYS, COUNT(COLUMNS), COUNT(KEYS), 0, 0, values};
        for (int row = 0; row < ROWS; row++) {
            size_t key_size, value_size;
            char *key = damaged(KEY_TEXTS[below(COUNT(KEY_TEXTS))], &key_size);
            char *value = damaged(VALUES[below(COUNT(VALUES))], &value_size);
            int status = read_row(&table, key, key_size, value, value_size, (int)below(2), row);
            free(key);
            free(value);
            if (status != READ_DONE) break;
            accepted += row == 0;
        }
        for (size_t i = 0; i < ALL; i++) {
            free(values[i].valid);
            free(values[i].fixed);
            free(values[i].offsets);
            free(values[i].text);
        }
    }
    printf("%ld inputs, %ld accepted\n", inputs, accepted);
    return 0;
}
