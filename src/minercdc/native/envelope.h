/* Reads the connector's own JSON envelopes into the columns of the lake's change log. A record that is not certain to be ours is left to others. */
#ifndef MINERCDC_ENVELOPE_H
#define MINERCDC_ENVELOPE_H

#include "decode.h"

typedef struct {
    const char *at;
    int64_t size; /* -1: null */
} span;

typedef struct {
    char *at;
    size_t size, room;
} grown;

typedef struct {
    grown ends;  /* offset after each text */
    grown text;
    grown valid; /* a byte a row */
    int64_t nulls;
} text_column;

/* Texts that are looked for.
   placeholders: what stands for a value that redo does not hold; rowid_member: of the key of a row that has none. */
typedef struct {
    span placeholders[2], rowid_member;
    int value_wrapped, key_wrapped;
} scan_plan;

typedef struct {
    int64_t count;
    grown partition, offset, scn, commit_scn, seq, commit_us; /* int32_t, then int64_t */
    grown initial, partial, long_number;                      /* a byte a row */
    text_column op, row_id, key, value, unavailable, old_key;
} log_columns;

typedef struct {
    int32_t partition;
    int64_t offset;
    span key, value, old_key, unavailable;
} log_record;

/* Appends one record: READ_DONE, READ_LEFT or READ_NO_MEMORY; after another one than the first, the columns are to be freed. */
int scan_record(const scan_plan *plan, const log_record *record, log_columns *out);

/* How many bytes the columns hold. */
size_t columns_size(const log_columns *columns);

void free_columns(log_columns *columns);

#endif
