/* Damaged statements through the C core, built with the address and undefined-behaviour sanitizers: fuzz INPUTS SEED.

   Each input lies in memory of exactly its size, so that a byte read beyond it is found. What is accepted is printed in every way. */
#include "core.h"

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

static size_t damaged(char *text) {
    const char *seed = SEEDS[below(COUNT(SEEDS))];
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

int main(int count, char **arguments) {
    long inputs = count > 1 ? atol(arguments[1]) : 100000, accepted = 0;
    scan_table table;
    buffer out = {0};
    cell before[COLUMNS], after[COLUMNS];
    char text[MOST + 1];
    uint32_t assigned;
    state = 88172645463325252ull ^ (count > 2 ? (uint64_t)atol(arguments[2]) << 20 : 0);
    print_float = float_of;
    describe(&table, calloc(COLUMNS + 1, sizeof(scan_column)));
    for (long n = 0; n < inputs; n++) {
        if (n % 1000 == 999) {
            scan_table_free(&table);
            describe(&table, calloc(COLUMNS + 1, sizeof(scan_column)));
        }
        size_t size = damaged(text);
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
    }
    scan_table_free(&table);
    free(out.data);
    printf("%ld inputs, %ld accepted\n", inputs, accepted);
    return 0;
}
