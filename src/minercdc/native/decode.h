/* Reads the connector's own JSON into columns in Arrow's form. A text that is not certain to be ours is left to others: no error is raised. */
#ifndef MINERCDC_DECODE_H
#define MINERCDC_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum {
    READ_TEXT,          /* a string as it is */
    READ_INTEGER,       /* a number, or a string of digits */
    READ_DECIMAL,       /* base64 of the unscaled value; 16 bytes */
    READ_DECIMAL_TEXT,  /* a string of digits with a point; 16 bytes */
    READ_SCALED_TEXT,   /* base64 of the unscaled value, as the text of the number */
    READ_VARIABLE_TEXT, /* {"scale":..,"value":..}, as the text of the number */
    READ_MILLIS,        /* a number of milli-, micro-, nanoseconds as microseconds */
    READ_MICROS,
    READ_NANOS,
    READ_NANOS_TEXT,    /* as text with nine digits of a second */
    READ_ISO,           /* ISO 8601 text in UTC as microseconds */
    READ_ISO_TEXT,      /* as text with nine digits of a second */
    READ_BASE64,
    READ_BASE64_URL,
    READ_HEX,
    READ_SINGLE,
    READ_DOUBLE,
    READ_BOOLEAN
};

typedef struct {
    const char *member;
    uint32_t member_size;
    uint8_t kind, width; /* bytes of a value; 0 for text and bytes, which have offsets; a Boolean has one here */
    int32_t precision, scale;
} read_column;

typedef struct {
    uint8_t *valid; /* a bit a row */
    char *fixed;
    int32_t *offsets;
    char *text;
    size_t size, room;
    int64_t nulls;
} read_values;

typedef struct {
    const read_column *columns, *keys;
    uint32_t count, key_count;
    int value_wrapped, key_wrapped;
    read_values *values; /* of the columns, then of the keys */
} read_table;

enum { READ_DONE, READ_LEFT, READ_NO_MEMORY };

/* Appends the values of one row, whose number is `row`: of the image before the change where `before`, else of that after it. key may be NULL. */
int read_row(const read_table *table, const char *key, size_t key_size, const char *value, size_t value_size, int before, int64_t row);

typedef struct {
    const char *key, *row_id;
    int32_t key_size, row_id_size; /* -1: null */
    int64_t commit_scn, seq, offset;
    int is_delete;
} read_change;

/* Marks in `kept` the last change of each key, as latest.py has it: of each key and ROWID first, then of each key. Returns 0 without memory. */
int last_changes(const read_change *changes, int64_t count, int by_row, uint8_t *kept);

typedef int (*read_number)(const char *text, size_t size, double *value);
extern read_number read_double_text;

#endif
