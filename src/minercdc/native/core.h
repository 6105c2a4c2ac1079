/* Statements of SQL_REDO to JSON, without Python: `scan.c` finds the values of a statement, `print.c` prints them.

   Every function takes bytes with their length, so a NUL is a byte like any other, and reads nothing outside of them. What a function
   does not know for certain it refuses (0): the caller then has Python's reference do the whole row, so nothing here raises an
   error or says what is wrong. Text is UTF-8; what is valid is its caller's promise, and no byte is taken apart but ASCII. */
#ifndef MINERCDC_CORE_H
#define MINERCDC_CORE_H

#include <stddef.h>
#include <stdint.h>

/* ---- a value of a scanned row ---- */

enum cell_kind {
    CELL_ABSENT,  /* redo does not hold it: UNAVAILABLE */
    CELL_NULL,
    CELL_EMPTY,   /* EMPTY_CLOB(), EMPTY_BLOB() */
    CELL_TEXT,    /* as it stands between the apostrophes */
    CELL_DOUBLED, /* likewise, with doubled apostrophes in it */
    CELL_UNISTR,  /* argument of UNISTR, perhaps with doubled apostrophes */
    CELL_UNSET    /* of an UPDATE that does not assign the column; never left by scan_statement */
};

/* `at` and `size` are of the text between the apostrophes, in bytes of the statement; `function` is what it is the argument of. */
typedef struct {
    uint32_t at, size;
    uint8_t kind;     /* enum cell_kind */
    uint8_t function; /* enum function */
} cell;

/* ---- scanning ---- */

enum function {
    FUNCTION_NONE, FUNCTION_UNISTR, FUNCTION_TO_DATE, FUNCTION_TO_TIMESTAMP, FUNCTION_TO_TIMESTAMP_TZ, FUNCTION_HEXTORAW,
    FUNCTION_TO_YMINTERVAL, FUNCTION_TO_DSINTERVAL, FUNCTION_EMPTY_CLOB, FUNCTION_EMPTY_BLOB, FUNCTIONS
};

/* What Python's decoder would do with the text of a literal: it is converted, which may fail, or taken as it is. */
enum use { USE_REFUSED, USE_AS_IS, USE_CHECKED };

enum check {
    CHECK_NEVER, CHECK_ANY, CHECK_NUMBER, CHECK_SINGLE, CHECK_DOUBLE, CHECK_DATE, CHECK_TIMESTAMP, CHECK_ZONED,
    CHECK_YEAR_MONTH, CHECK_DAY_SECOND
};

typedef struct {
    const char *name;
    uint32_t name_size;
    int32_t position;        /* in the row; -1 for a column that is passed over */
    uint8_t uses[FUNCTIONS]; /* enum use */
    uint8_t check;           /* enum check, for USE_CHECKED of any function but UNISTR */
    uint8_t absent;          /* enum cell_kind of an INSERT that does not name it */
} scan_column;

typedef struct {
    scan_column *columns; /* the row's, by position, then those passed over */
    uint32_t width;       /* of a row */
    uint32_t count;       /* of columns */
    char *header;         /* of the last INSERT, up to its first value; owned */
    size_t header_size;
    int32_t *order;       /* the columns that it names; owned */
    uint32_t order_count;
} scan_table;

enum operation { OPERATION_NONE = 0, OPERATION_INSERT = 1, OPERATION_DELETE = 2, OPERATION_UPDATE = 3 }; /* as OPERATION_CODE */

/* Read a statement. `before` and `after` have `width` cells each; those of a row that the operation has not are left undefined.
   The result is the operation; OPERATION_NONE when the statement is to be read by Python. `*assigned` is the number of assignments of an
   UPDATE to columns of the row. */
int scan_statement(scan_table *table, const char *sql, size_t size, cell *before, cell *after, uint32_t *assigned);

void scan_table_free(scan_table *table);

/* ---- printing ---- */

typedef struct {
    char *data;
    size_t size, room;
    int failed; /* no memory */
} buffer;

enum print_kind {
    PRINT_NEVER, PRINT_TEXT, PRINT_INTEGER, PRINT_CANONICAL, PRINT_PADDED, PRINT_NUMBER_DOUBLE, PRINT_DECIMAL,
    PRINT_VARIABLE_SCALE, PRINT_SINGLE, PRINT_DOUBLE, PRINT_EPOCH, PRINT_ISO, PRINT_ZONED, PRINT_HEX, PRINT_BASE64,
    PRINT_BASE64_URL, PRINT_MONTHS, PRINT_SECONDS, PRINT_MONTHS_ISO, PRINT_SECONDS_ISO
};

/* How the text of a DATE or TIMESTAMP is spelled. */
enum spelling { SPELLED_DATE, SPELLED_TIMESTAMP, SPELLED_ZONED };

typedef struct {
    uint32_t position;
    uint8_t kind;     /* enum print_kind */
    uint8_t spelling; /* enum spelling */
    int32_t digits;   /* scale of a number, digits of a second */
    const char *member; /* what stands before its value: `,"NAME":` */
    uint32_t member_size;
    const char *unavailable; /* JSON of CELL_ABSENT; NULL when that is refused */
    uint32_t unavailable_size;
} print_column;

/* Make room for so many more bytes; 0 when there is no memory. */
int reserve(buffer *out, size_t more);

void put(buffer *out, const char *text, size_t size);
void put_integer(buffer *out, int64_t value);
int print_cell(buffer *out, const print_column *column, const char *sql, const cell *value);

/* The members of a row with braces. `marks` gets where each value begins and ends: 2 * count. With `old`, cells equal to those of
   `other` are copied from the marks `old`. */
int print_row(buffer *out, const print_column *columns, uint32_t count, const char *sql, const cell *row, size_t *marks,
              const cell *other, const size_t *old);

/* Shortest text of an IEEE double, or single, that reads back the same, as Python prints it; given by the caller, since C has none.
   Writes at most 32 bytes; the result is their number, 0 for a text that is no number or not finite. */
typedef int (*float_text)(const char *text, size_t size, int is_single, char *out);
extern float_text print_float;

/* ---- what both use ---- */

typedef struct {
    int is_negative; /* never for zero */
    const char *whole, *fraction;
    uint32_t whole_size, fraction_size; /* without superfluous zeros */
} number;

typedef struct {
    int64_t seconds; /* since the epoch, of the wall clock */
    uint32_t nanos;
    const char *offset; /* ` +HH:MM`; NULL when there is none */
} moment;

typedef struct {
    int is_negative; /* as written: also for zero */
    int64_t parts[4]; /* years and months, or days, hours, minutes and seconds */
    uint32_t nanos;
} interval;

int read_number(const char *text, size_t size, number *out);
int read_moment(const char *text, size_t size, int spelling, moment *out);
int read_year_month(const char *text, size_t size, interval *out);
int read_day_second(const char *text, size_t size, interval *out);
int read_float(const char *text, size_t size);
int read_unistr(const char *text, size_t size);

#endif
