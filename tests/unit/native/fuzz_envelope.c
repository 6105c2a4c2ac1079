/* Damaged envelopes through the scanner of the change log, built with the address and undefined-behaviour sanitizers: fuzz_envelope INPUTS SEED.

   Each text lies in memory of exactly its size, so that a byte read beyond it is found. */
#include "envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 2048
#define ROWS 4
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define SOURCE \
    ",\"source\":{\"version\":\"0.1.0\",\"connector\":\"oracle\",\"name\":\"s\",\"ts_ms\":5,\"snapshot\":\"first\",\"db\":\"D\",\"sequence\":null," \
    "\"ts_us\":5,\"ts_ns\":5,\"schema\":\"S\",\"table\":\"T\",\"txId\":\"0a\",\"scn\":\"101\",\"commit_scn\":\"103\",\"lcr_position\":null," \
    "\"rs_id\":null,\"ssn\":1,\"redo_thread\":1,\"user_name\":\"U\",\"redo_sql\":null,\"row_id\":\"AAAR3sAAEAAAACXAAA\",\"commit_ts_ms\":7," \
    "\"start_scn\":\"9\",\"start_ts_ms\":5,\"txSeq\":4},\"transaction\":null,\"op\":\"r\",\"ts_ms\":1,\"ts_us\":1,\"ts_ns\":1}"

static const char *const VALUES[] = {
    "{\"before\":null,\"after\":{\"ID\":1,\"N\":{\"scale\":0,\"value\":\"QUJDREVGR0hJSktM\"},\"T\":\"__unavailable\"}" SOURCE,
    "{\"schema\":{\"type\":\"struct\"},\"payload\":{\"before\":null,\"after\":{\"ID\":1}}" SOURCE "}",
    "{\"payload\":{\"before\":{\"ID\":1},\"after\":null" SOURCE "}",
};
static const char *const KEYS[] = {"{\"ID\":1}", "{\"ROWID\":\"AAA\"}", "{\"N\":{\"value\":\"QUJDREVGR0hJSktM\"}}", ""};
static const char *const SPLICES[] = {
    "\"", "\\", "{", "}", ",", ":", "null", "9999999999999999999", "\"op\":\"d\"", "\"value\":\"AAAAAAAAAAA", "\xff", ",\"source\":{\"version\":\"",
    ",\"payload\":{\"before\":", "{\"schema\":", "__unavailable", "\"txSeq\":", "\"\"", "}}", ",,,,,,,,,,",
};

static uint64_t state;

static uint32_t below(uint32_t most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % most;
}

/* A damaged text in memory of its size; now and then none. */
static span damaged(const char *seed, int may_lack) {
    char text[MOST];
    size_t size = strlen(seed);
    if (may_lack && !below(4)) return (span){NULL, -1};
    memcpy(text, seed, size);
    for (uint32_t n = below(4); n > 0; n--) {
        const char *splice = below(3) ? SPLICES[below(COUNT(SPLICES))] : "";
        size_t at = below((uint32_t)size + 1), cut = below(6), more = strlen(splice);
        if (cut > size - at) cut = size - at;
        if (size - cut + more > MOST) break;
        memmove(text + at + more, text + at + cut, size - at - cut);
        memcpy(text + at, splice, more);
        size += more - cut;
    }
    char *exact = malloc(size ? size : 1);
    if (!exact) abort();
    memcpy(exact, text, size);
    return (span){exact, (int64_t)size};
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long inputs = atol(arguments[1]), accepted = 0;
    state = (uint64_t)atol(arguments[2]) * 0x9e3779b97f4a7c15u + 1;
    for (long n = 0; n < inputs; n++) {
        scan_plan plan = {{{"__unavailable", 13}, {"X191", 4}}, {"ROWID", 5}, (int)below(2), (int)below(2)};
        log_columns columns;
        memset(&columns, 0, sizeof columns);
        for (int row = 0; row < ROWS; row++) {
            log_record record = {row, n, damaged(KEYS[below(COUNT(KEYS))], 1), damaged(VALUES[below(COUNT(VALUES))], 0), {NULL, -1}, {NULL, -1}};
            if (!below(3)) record.old_key = damaged(KEYS[below(COUNT(KEYS))], 1);
            if (!below(3)) record.unavailable = damaged("[\"A\"]", 1);
            int status = scan_record(&plan, &record, &columns);
            free((char *)record.key.at);
            free((char *)record.value.at);
            free((char *)record.old_key.at);
            free((char *)record.unavailable.at);
            if (status != READ_DONE) break;
            accepted += row == 0;
        }
        free_columns(&columns);
    }
    printf("%ld inputs, %ld accepted\n", inputs, accepted);
    return 0;
}
