/* Damaged statements and payloads through the C core, and rows in and out of its store, built with the address and undefined-behaviour sanitizers: fuzz INPUTS SEED.

   Each input lies in memory of exactly its size, so that a byte read beyond it is found. What is accepted is printed in every way. */
#include "avro.h"
#include "core.h"
#include "pieces.h"
#include "protobuf.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 12
#define MOST 2048

static const char *const SEEDS[] = {
    "insert into \"S\".\"T\"(\"ID\",\"N\",\"V\",\"U\",\"D\",\"T\",\"Z\",\"R\",\"F\",\"M\",\"I\",\"C\") values ('1','-12.50','it''s "
    "\"x\"\\\t',UNISTR('\\00E9t\\D83D\\DE00\\\\ '''),TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS'),"
    "TO_TIMESTAMP('2026-02-28 13:45:59.123456789'),TO_TIMESTAMP_TZ('2026-02-28 13:45:59.5 +05:30'),HEXTORAW('0aFF00'),"
    "'1.5E+003',TO_YMINTERVAL('+01-02'),TO_DSINTERVAL('-01 02:03:04.5'),EMPTY_CLOB());",
    "update \"S\".\"T\" set \"N\" = '99999999999999999999999999999999999999', \"V\" = NULL, \"OTHER\" = F('x', 'y') where \"ID\" = '1' "
    "and \"V\" IS NULL and \"U\" = UNISTR('\\0416') and \"D\" = TO_DATE('1969-12-31 23:59:59', '') and ROWID = 'AAASjHAAMAAAACDAAA'",
    "update \"S\".\"T\" a set a.\"R\" = HEXTORAW(''), a.\"C\" = Unsupported Type where a.\"ID\" = '-7' and a.\"F\" = '-0';",
    "delete from \"S\".\"T\" a where a.\"I\" = TO_DSINTERVAL('999999999 23:59:59.999999999') and a.\"M\" = TO_YMINTERVAL('-0-0')",
    "delete from \"S\".\"T\" where \"T\" = TO_TIMESTAMP('9999-12-31 23:59:59') and \"Z\" = TO_TIMESTAMP_TZ('0001-01-01 00:00:00 -00:00');",
};
static const char *const SPLICES[] = {
    "'", "''", "\"", "(", ")", ",", ", ", ";", " and ", " where ", "\\", "\\D83D", "\\DE00", "HEXTORAW('", "NULL", "UNISTR('", "1E999",
    "9999999999999999999999999999999999999999", ".", "-", "0", "\n", "", "\xc3\xa9", "\xff", "TO_DATE('2026-02-29 00:00:00')",
    "EMPTY_BLOB()", "Unsupported Type", " = ", "\"ID\"", "a.", "ROWID = ", "000000000000000000000000000000000000000000000000000000000000",
};
static const char *const PAYLOADS[] = {
    "{\"b\":true,\"i\":-7,\"l\":9223372036854775807,\"f\":1.5,\"d\":-0.25e-7,\"s\":\"it's \\\"x\\\"\\\\\\u0001\xc3\xa9\",\"y\":\"AP8Q\",\"r\":{\"n\":null}}",
    "{\"b\":null,\"i\":127,\"l\":0,\"f\":\"NaN\",\"d\":\"-Infinity\",\"s\":\"\",\"y\":\"AA==\",\"r\":null}",
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t state;

static uint32_t below(uint32_t most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % most;
}

static int float_of(const char *text, size_t size, int is_single, char *out) {
    char ended[80];
    if (size >= sizeof ended) abort();
    memcpy(ended, text, size);
    ended[size] = 0;
    return snprintf(out, 32, "%.9g", is_single ? (double)strtof(ended, NULL) : strtod(ended, NULL));
}

static size_t damaged(char *text, const char *const *seeds, uint32_t count) {
    const char *seed = seeds[below(count)];
    size_t size = strlen(seed);
    memcpy(text, seed, size);
    for (uint32_t n = below(5); n > 0; n--) {
        size_t at = below((uint32_t)size + 1), cut = below(13), put_size = 0;
        const char *splice = "";
        char byte = (char)below(256);
        if (cut > size - at) cut = size - at;
        switch (below(6)) {
        case 0: splice = SPLICES[below(COUNT(SPLICES))]; put_size = strlen(splice); break;
        case 1: splice = &byte; put_size = 1; cut = cut ? 1 : 0; break;
        case 2: cut = 0; splice = SPLICES[below(COUNT(SPLICES))]; put_size = strlen(splice); break;
        case 3: cut = size - at; break;
        case 4: cut = 0; splice = seed; put_size = below((uint32_t)strlen(seed)); break;
        default: cut = 0; splice = "\0\0\0"; put_size = below(4); break;
        }
        if (size - cut + put_size > MOST) continue;
        memmove(text + at + put_size, text + at + cut, size - at - cut);
        memcpy(text + at, splice, put_size);
        size += put_size - cut;
    }
    return size;
}

static void describe(scan_table *table, scan_column *columns) {
    static const char *const NAMES[COLUMNS] = {"ID", "N", "V", "U", "D", "T", "Z", "R", "F", "M", "I", "C"};
    static const uint8_t CHECKS[COLUMNS] = {CHECK_NUMBER, CHECK_NUMBER, CHECK_NEVER, CHECK_NEVER, CHECK_DATE, CHECK_TIMESTAMP,
        CHECK_ZONED, CHECK_ANY, CHECK_DOUBLE, CHECK_YEAR_MONTH, CHECK_DAY_SECOND, CHECK_NEVER};
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = (scan_column){NAMES[i], (uint32_t)strlen(NAMES[i]), i, {0}, CHECKS[i], CELL_ABSENT};
        for (int f = 0; f < FUNCTIONS; f++) columns[i].uses[f] = (uint8_t)(below(12) ? USE_AS_IS + below(2) : USE_REFUSED);
    }
    columns[COLUMNS] = (scan_column){"OTHER", 5, -1, {0}, 0, 0};
    memset(table, 0, sizeof *table);
    table->columns = columns;
    table->width = COLUMNS;
    table->count = COLUMNS + 1;
}

static void print_all(const char *sql, const cell *before, const cell *after, int operation, buffer *out) {
    static const uint8_t FITTING[COLUMNS] = {PRINT_INTEGER, PRINT_DECIMAL, PRINT_TEXT, PRINT_TEXT, PRINT_EPOCH, PRINT_ISO, PRINT_ZONED,
        PRINT_BASE64, PRINT_VARIABLE_SCALE, PRINT_MONTHS, PRINT_SECONDS_ISO, PRINT_TEXT};
    print_column columns[COLUMNS];
    size_t marks[4 * COLUMNS];
    const cell *first = operation == OPERATION_INSERT ? after : before;
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = (print_column){(uint32_t)i, below(3) ? FITTING[i] : (uint8_t)below(PRINT_SECONDS_ISO + 1), (uint8_t)below(3), (int32_t)below(10), ",\"C\":", 5,
            below(4) ? "null" : NULL, 4};
    for (int i = 0; i < COLUMNS; i++) { /* each by itself, too: one that is refused hides what follows */
        out->size = 0;
        print_cell(out, &columns[i], sql, &first[i]);
    }
    out->size = 0;
    if (print_row(out, columns, COLUMNS, sql, first, marks, NULL, NULL) && operation == OPERATION_UPDATE)
        print_row(out, columns, COLUMNS, sql, after, marks + 2 * COLUMNS, before, marks);
    if (out->size > out->room) abort();
}

/* ---- the store, beside arrays that say what is in it ---- */

#define ROWS 24
#define NUMBERS 8 /* of names and infos */

static mined_row row_with(uint32_t mark, char *texts) {
    mined_row row;
    memset(&row, 0, sizeof row);
    row.scn = mark;
    row.code = (int32_t)below(4);
    row.name = (int32_t)below(NUMBERS);
    row.info = (int32_t)below(NUMBERS + 1) - 1;
    for (int i = 0; i < 64; i++) texts[i] = (char)below(256);
    row.rs_id = (mined_text){texts, (int32_t)below(24)};
    row.row_id = (mined_text){texts + 24, (int32_t)below(20) - 1};
    row.sql = (mined_text){texts + 30, (int32_t)below(34) - 1};
    return row;
}

static void check_block(const row_block *block, const uint32_t *marks, size_t count) {
    mined_row row;
    size_t at = 0, end = block->size;
    for (size_t i = 0; i < count; i++) {
        uint32_t size = block_get(block->data, block->size, at, &row);
        if (size == 0 || row.scn != marks[i]) abort();
        at += size;
    }
    if (at != block->size || block_get(block->data, block->size, at, &row)) abort();
    for (size_t i = count; i-- > 0;) {
        end = block_before(block, end);
        if (end == NO_PLACE || !block_get(block->data, block->size, end, &row) || row.scn != marks[i]) abort();
    }
    if (end != 0 || block_before(block, 0) != NO_PLACE) abort();
}

/* Rows as files keep them. `whole`: they are undamaged, and this is how many. */
static void check_numbers(char *data, size_t size, size_t whole) {
    static const int32_t BACKWARDS[NUMBERS] = {7, 6, 5, 4, 3, 2, 1, 0};
    uint8_t used[NUMBERS] = {0}, renumbered[NUMBERS] = {0};
    size_t rows = block_numbers(data, size, used, NUMBERS);
    if (whole && rows != whole) abort();
    int done = block_renumber(data, size, BACKWARDS, NUMBERS);
    if (done != (rows != NO_PLACE)) abort();
    if (!done) return;
    if (block_numbers(data, size, renumbered, NUMBERS) != rows) abort();
    for (int i = 0; i < NUMBERS; i++)
        if (used[i] != renumbered[NUMBERS - 1 - i]) abort();
    if (!block_renumber(data, size, BACKWARDS, NUMBERS)) abort(); /* as they were */
    if (rows && block_numbers(data, size, used, 0) != NO_PLACE) abort();
}

static void fuzz_rows(void) {
    row_block block = {0}, older = {0};
    uint32_t marks[2 * ROWS], mark = 0;
    size_t count = 0;
    char texts[64];
    mined_row row;
    for (int n = 0; n < 3 * ROWS; n++) {
        uint32_t pick = below(10);
        if (pick < 6 && count < ROWS) {
            row = row_with(++mark, texts);
            if (!block_put(&block, &row)) abort();
            marks[count++] = mark;
        } else if (pick < 9 && count) { /* one is taken out */
            size_t later = below((uint32_t)count), at = block_before(&block, block.size);
            for (size_t i = 0; i < later; i++) at = block_before(&block, at);
            if (!block_take_out(&block, at)) abort();
            memmove(&marks[count - 1 - later], &marks[count - later], later * sizeof *marks);
            count--;
        } else if (count) { /* all go to disk in parts and come back, damaged at times */
            size_t at = 0, size = block.size;
            char *spilled = malloc(size);
            memcpy(spilled, block.data, size);
            check_numbers(spilled, size, count);
            if (memcmp(spilled, block.data, size)) abort();
            while (at < size) {
                size_t part = block_part(spilled, size, at, below(600));
                if (part == 0 || part > size - at) abort();
                at += part;
            }
            block_free(&block);
            if (!below(4)) {
                spilled[below((uint32_t)size)] ^= (char)(1u << below(8));
                block_prepend(&older, spilled, size - below(9));
                check_numbers(spilled, size, 0);
                for (at = 0; at < older.size;) {
                    uint32_t one = block_get(older.data, older.size, at, &row);
                    if (one == 0) break;
                    at += one;
                }
                block_free(&older);
                count = 0;
            } else if (!block_prepend(&block, spilled, size)) {
                abort();
            }
            free(spilled);
        }
        check_block(&block, marks, count);
    }
    block_free(&block);
}

static void fuzz_xids(void) {
    xid_table table = {0};
    char values[64], there[64] = {0};
    size_t count = 0;
    for (int n = 0; n < 200; n++) {
        uint32_t i = below(64);
        int64_t container = i % 2;
        uint64_t xid = i / 2;
        if (below(2)) {
            if (!xid_put(&table, container, xid, &values[i])) abort();
            count += !there[i];
            there[i] = 1;
        } else {
            if ((xid_remove(&table, container, xid) == &values[i]) != there[i]) abort();
            count -= (size_t)there[i];
            there[i] = 0;
        }
        if (table.count != count) abort();
        for (uint32_t k = 0; k < 64; k++)
            if ((xid_find(&table, k % 2, k / 2) == &values[k]) != there[k]) abort();
    }
    xid_free(&table);
}

static int double_of_text(const char *text, size_t size, double *out) {
    char ended[64];
    if (size >= sizeof ended) return 0;
    memcpy(ended, text, size);
    ended[size] = 0;
    *out = strtod(ended, NULL);
    return 1;
}

/* A payload in memory of exactly its size, and what Avro makes of it. */
static long fuzz_avro(void) {
    static const avro_field FIELDS[] = {
        {"", 0, 10, AVRO_RECORD, AVRO_REQUIRED, 0},
        {"{\"b\":", 5, 2, AVRO_BOOLEAN, AVRO_NULL_FIRST, 0},
        {",\"i\":", 5, 3, AVRO_INTEGER, AVRO_REQUIRED, 8},
        {",\"l\":", 5, 4, AVRO_INTEGER, AVRO_NULL_LAST, 64},
        {",\"f\":", 5, 5, AVRO_FLOAT, AVRO_REQUIRED, 0},
        {",\"d\":", 5, 6, AVRO_DOUBLE, AVRO_REQUIRED, 0},
        {",\"s\":", 5, 7, AVRO_STRING, AVRO_REQUIRED, 0},
        {",\"y\":", 5, 8, AVRO_BYTES, AVRO_REQUIRED, 0},
        {",\"r\":", 5, 10, AVRO_RECORD, AVRO_NULL_FIRST, 0},
        {"{\"n\":", 5, 10, AVRO_STRING, AVRO_NULL_FIRST, 0},
    };
    char text[MOST + 1];
    size_t size = damaged(text, PAYLOADS, COUNT(PAYLOADS));
    char *exact = malloc(size ? size : 1);
    buffer out = {0};
    memcpy(exact, text, size);
    int written = avro_write(&out, FIELDS, exact, size);
    if (out.size > 11 * COUNT(FIELDS) + size) abort(); /* the room that it counts on */
    free(out.data);
    free(exact);
    return written;
}

/* A damaged payload in memory of exactly its size. */
static char *damaged_payload(size_t *size) {
    char text[MOST + 1];
    *size = damaged(text, PAYLOADS, COUNT(PAYLOADS));
    char *exact = malloc(*size ? *size : 1);
    memcpy(exact, text, *size);
    return exact;
}

static long fuzz_protobuf(void) {
    static const protobuf_field FIELDS[] = {
        {"", 0, 10, 0, 0, PROTOBUF_MESSAGE, PROTOBUF_PLAIN, 0, 0},
        {"{\"b\":", 5, 2, 1, 0, PROTOBUF_BOOLEAN, PROTOBUF_EXPLICIT, 0, 1},
        {",\"i\":", 5, 3, 2, 0, PROTOBUF_INTEGER, PROTOBUF_PLAIN, 8, 0},
        {",\"l\":", 5, 4, 3000, 0, PROTOBUF_STAMP, PROTOBUF_PLAIN, 0, 1},
        {",\"f\":", 5, 5, 4, 0, PROTOBUF_FLOAT, PROTOBUF_WRAPPED, 0, 1},
        {",\"d\":", 5, 6, 5, 0, PROTOBUF_DOUBLE, PROTOBUF_PLAIN, 0, 0},
        {",\"s\":", 5, 7, 6, 0, PROTOBUF_STRING, PROTOBUF_WRAPPED, 0, 0},
        {",\"y\":", 5, 8, 7, -2, PROTOBUF_DECIMAL, PROTOBUF_PLAIN, 0, 0},
        {",\"r\":", 5, 10, 8, 0, PROTOBUF_MESSAGE, PROTOBUF_PLAIN, 0, 1},
        {"{\"n\":", 5, 10, 1, 0, PROTOBUF_DATE, PROTOBUF_PLAIN, 0, 1},
    };
    size_t size;
    char *exact = damaged_payload(&size);
    buffer out = {0};
    int written = protobuf_write(&out, FIELDS, exact, size);
    if (out.size > 48 * COUNT(FIELDS) + size) abort(); /* the room that it counts on */
    free(out.data);
    free(exact);
    return written;
}

static long fuzz_pieces(void) {
    static const node STRUCTS[] = {
        {"", 0, 10, "", 0, NODE_STRUCT}, {"{\"b\":", 5, 2, "", 0, NODE_VALUE}, {",\"i\":", 5, 3, "", 0, NODE_VALUE},
        {",\"l\":", 5, 4, "", 0, NODE_VALUE}, {",\"f\":", 5, 5, "", 0, NODE_VALUE}, {",\"d\":", 5, 6, "", 0, NODE_VALUE},
        {",\"s\":", 5, 7, "", 0, NODE_VALUE}, {",\"y\":", 5, 8, "", 0, NODE_VALUE}, {",\"r\":", 5, 10, "", 0, NODE_STRUCT},
        {"{\"n\":", 5, 10, "", 0, NODE_VALUE},
    };
    node nodes[COUNT(STRUCTS)];
    place places[COUNT(STRUCTS)] = {0};
    size_t size;
    char *exact = damaged_payload(&size);
    buffer out = {0};
    memcpy(nodes, STRUCTS, sizeof nodes);
    uint32_t other = below(4); /* as they are, or the last struct passed, or nothing from a member on, or nothing at all looked at */
    if (other == 1) nodes[8].kind = NODE_PASSED, nodes[8].until = "}}", nodes[8].until_size = 2;
    if (other == 2) nodes[1 + below(8)].kind = NODE_REST;
    if (other == 3) nodes[0].kind = NODE_WHOLE;
    int found = find_places(nodes, 0, exact, size, places);
    for (uint8_t kind = PIECE_TEXT; found && kind <= PIECE_TIME; kind++)
        for (uint32_t first = 0; first < COUNT(nodes); first++) {
            text_piece one = {"x", 1, first, below(COUNT(nodes)), kind};
            write_pieces(&out, &one, 1, places);
        }
    for (size_t i = 0; found && i < COUNT(nodes); i++)
        if (places[i].at != NULL && (is_null(&places[i]) || put_content(&out, &places[i]))) out.size = 0;
    free(out.data);
    free(exact);
    return found;
}

int main(int count, char **arguments) {
    long inputs = count > 1 ? atol(arguments[1]) : 100000, accepted = 0, payloads = 0, messages = 0, pieces = 0;
    scan_table table;
    buffer out = {0};
    cell before[COLUMNS], after[COLUMNS];
    char text[MOST + 1];
    uint32_t assigned;
    state = 88172645463325252ull ^ (count > 2 ? (uint64_t)atol(arguments[2]) << 20 : 0);
    print_float = float_of;
    read_double = double_of_text;
    describe(&table, calloc(COLUMNS + 1, sizeof(scan_column)));
    for (long n = 0; n < inputs; n++) {
        if (n % 1000 == 999) {
            fuzz_rows();
            fuzz_xids();
            scan_table_free(&table);
            describe(&table, calloc(COLUMNS + 1, sizeof(scan_column)));
        }
        size_t size = damaged(text, SEEDS, COUNT(SEEDS));
        char *exact = malloc(size ? size : 1);
        memcpy(exact, text, size);
        int operation = scan_statement(&table, exact, size, before, after, &assigned);
        accepted += operation != OPERATION_NONE;
        for (int i = 0; operation != OPERATION_NONE && i < COLUMNS; i++) {
            if (operation != OPERATION_INSERT && (before[i].kind >= CELL_UNSET || before[i].at + before[i].size > size)) abort();
            if (operation != OPERATION_DELETE && (after[i].kind >= CELL_UNSET || after[i].at + after[i].size > size)) abort();
        }
        if (operation != OPERATION_NONE) print_all(exact, before, after, operation, &out);
        free(exact);
        payloads += fuzz_avro();
        messages += fuzz_protobuf();
        pieces += fuzz_pieces();
    }
    if (payloads < inputs / 20 || messages < inputs / 20 || pieces < inputs / 20) return fprintf(stderr, "hardly any payload was written\n"), 1;
    scan_table_free(&table);
    free(out.data);
    printf("%ld inputs, %ld accepted\n", inputs, accepted);
    return 0;
}
