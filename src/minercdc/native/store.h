/* Rows of V$LOGMNR_CONTENTS in memory, and open transactions by XID; without Python, as core.h. */
#ifndef MINERCDC_STORE_H
#define MINERCDC_STORE_H

#include <stddef.h>
#include <stdint.h>

#define NO_TEXT (-1)
#define NO_PLACE ((size_t)-1)

/* UTF-8; `size` is NO_TEXT where the row has none. */
typedef struct {
    const char *data;
    int32_t size;
} mined_text;

enum mined_flag { MINED_HAS_CONTAINER = 1, MINED_HAS_START = 2, MINED_IS_UNDO = 4, MINED_GOES_ON = 8, MINED_HALF_PAIR = 16 };

/* `name` and `info` are numbers that the caller gave to texts; negative for none. */
typedef struct {
    int64_t scn, ssn, time_us, container, start_scn;
    int32_t code, thread, status, name, info;
    uint32_t flags; /* of enum mined_flag */
    uint8_t xid[8];
    mined_text rs_id, row_id, sql;
} mined_row;

/* Rows one after the other, each a multiple of 8 bytes. */
typedef struct {
    char *data;
    size_t size, room;
    uint32_t last; /* size of the last row, 0 when there is none */
} row_block;

/* Append a copy. 0 when there is no memory, or a text is too long. */
int block_put(row_block *block, const mined_row *row);

/* Read the row that begins at `at`; its texts point into `data`. The result is its size; 0 when no whole row is there. */
uint32_t block_get(const char *data, size_t size, size_t at, mined_row *row);

/* Where the row begins that ends at `end`; NO_PLACE when `end` is 0 or no row ends there. */
size_t block_before(const row_block *block, size_t end);

/* Take out the row at `at`. 0 when no row begins there. */
int block_take_out(row_block *block, size_t at);

/* Put older rows, as they lie in a block, before those of this one. 0 when there is no memory or they are no rows. */
int block_prepend(row_block *block, const char *data, size_t size);

/* The largest part of a block from `at` on that has whole rows and at most `most` bytes, but one row at least. */
size_t block_part(const char *data, size_t size, size_t at, size_t most);

void block_free(row_block *block);

/* ---- rows as files keep them: capture/logminer/kept/rows.py has their form ---- */

/* Mark in `used` the numbers of names and infos below `count` that the rows of a block have. The number of rows; NO_PLACE when these
   are no rows, or have other numbers. */
size_t block_numbers(const char *data, size_t size, uint8_t *used, int32_t count);

/* Replace these numbers by `to[number]`. 0 when these are no rows, or have a number from `count` on. */
int block_renumber(char *data, size_t size, const int32_t *to, int32_t count);

/* ---- what is known by container and XID ---- */

typedef struct {
    int64_t container;
    uint64_t xid;
    void *value; /* NULL: free */
} xid_entry;

typedef struct {
    xid_entry *entries;
    size_t room, count; /* room: 0 or a power of two */
} xid_table;

void *xid_find(const xid_table *table, int64_t container, uint64_t xid);

/* Replaces an earlier value. 0 when there is no memory. */
int xid_put(xid_table *table, int64_t container, uint64_t xid, void *value);

/* The value that was there, NULL when there was none. */
void *xid_remove(xid_table *table, int64_t container, uint64_t xid);

void xid_free(xid_table *table);

#endif
