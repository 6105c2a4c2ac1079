/* Rows as they are buffered, and spilled: a head of fixed size, then the texts. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t size, before; /* of this row with its texts; of the row before it in the block */
    int32_t rs_size, row_id_size, sql_size, unused;
    mined_row row; /* without texts */
} row_head;

/* Files keep rows in this form: another one needs another version of them (capture/logminer/kept/frames.py). */
_Static_assert(sizeof(row_head) == 144, "capture/logminer/kept/rows.py has rows with a head of 144 bytes");

static uint32_t length(const mined_text *text) { return text->size > 0 ? (uint32_t)text->size : 0; }

static int reserve(row_block *block, size_t more) {
    if (block->room - block->size >= more) return 1;
    size_t room = block->room ? block->room : 512;
    while (room - block->size < more) {
        if (room > SIZE_MAX / 4) return 0;
        room *= 2;
    }
    char *data = realloc(block->data, room);
    if (data == NULL) return 0;
    block->data = data;
    block->room = room;
    return 1;
}

int block_put(row_block *block, const mined_row *row) {
    uint64_t size = sizeof(row_head) + (uint64_t)length(&row->rs_id) + length(&row->row_id) + length(&row->sql);
    size = (size + 7) & ~(uint64_t)7;
    if (size > UINT32_MAX / 2 || !reserve(block, (size_t)size)) return 0;
    char *at = block->data + block->size;
    row_head head;
    memset(&head, 0, sizeof head);
    head.size = (uint32_t)size;
    head.before = block->last;
    head.rs_size = row->rs_id.size;
    head.row_id_size = row->row_id.size;
    head.sql_size = row->sql.size;
    head.row = *row;
    memset(&head.row.rs_id, 0, sizeof head.row.rs_id);
    memset(&head.row.row_id, 0, sizeof head.row.row_id);
    memset(&head.row.sql, 0, sizeof head.row.sql);
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    if (length(&row->rs_id)) memcpy(at, row->rs_id.data, length(&row->rs_id));
    at += length(&row->rs_id);
    if (length(&row->row_id)) memcpy(at, row->row_id.data, length(&row->row_id));
    at += length(&row->row_id);
    if (length(&row->sql)) memcpy(at, row->sql.data, length(&row->sql));
    at += length(&row->sql);
    memset(at, 0, (size_t)(block->data + block->size + size - at));
    block->size += (size_t)size;
    block->last = (uint32_t)size;
    return 1;
}

static int read_head(const char *data, size_t size, size_t at, row_head *head) {
    if (at > size || size - at < sizeof *head) return 0;
    memcpy(head, data + at, sizeof *head);
    if (head->size < sizeof *head || head->size % 8 || head->size > size - at) return 0;
    if (head->rs_size < NO_TEXT || head->row_id_size < NO_TEXT || head->sql_size < NO_TEXT) return 0;
    uint64_t texts = 0;
    if (head->rs_size > 0) texts += (uint64_t)head->rs_size;
    if (head->row_id_size > 0) texts += (uint64_t)head->row_id_size;
    if (head->sql_size > 0) texts += (uint64_t)head->sql_size;
    return texts <= head->size - sizeof *head;
}

uint32_t block_get(const char *data, size_t size, size_t at, mined_row *row) {
    row_head head;
    if (!read_head(data, size, at, &head)) return 0;
    *row = head.row;
    const char *text = data + at + sizeof head;
    row->rs_id = (mined_text){text, head.rs_size};
    text += length(&row->rs_id);
    row->row_id = (mined_text){text, head.row_id_size};
    text += length(&row->row_id);
    row->sql = (mined_text){text, head.sql_size};
    return head.size;
}

size_t block_before(const row_block *block, size_t end) {
    row_head head;
    uint32_t size = block->last;
    if (end == 0 || end > block->size) return NO_PLACE;
    if (end < block->size) {
        if (!read_head(block->data, block->size, end, &head)) return NO_PLACE;
        size = head.before;
    }
    return size == 0 || size > end ? NO_PLACE : end - size;
}

int block_take_out(row_block *block, size_t at) {
    row_head head, next;
    if (!read_head(block->data, block->size, at, &head)) return 0;
    size_t end = at + head.size;
    if (end == block->size) {
        block->last = head.before;
    } else {
        if (!read_head(block->data, block->size, end, &next)) return 0;
        next.before = head.before;
        memcpy(block->data + end, &next, sizeof next);
        memmove(block->data + at, block->data + end, block->size - end);
    }
    block->size -= head.size;
    return 1;
}

int block_prepend(row_block *block, const char *data, size_t size) {
    row_head head;
    uint32_t last = 0;
    size_t at = 0;
    for (; at < size; at += head.size) {
        if (!read_head(data, size, at, &head)) return 0;
        last = head.size;
    }
    if (size == 0) return 1;
    if (!reserve(block, size)) return 0;
    if (block->size) {
        if (!read_head(block->data, block->size, 0, &head)) return 0;
        head.before = last;
        memcpy(block->data, &head, sizeof head);
        memmove(block->data + size, block->data, block->size);
    } else {
        block->last = last;
    }
    memcpy(block->data, data, size);
    memcpy(&head, block->data, sizeof head);
    head.before = 0;
    memcpy(block->data, &head, sizeof head);
    block->size += size;
    return 1;
}

size_t block_part(const char *data, size_t size, size_t at, size_t most) {
    row_head head;
    size_t end = at;
    while (read_head(data, size, end, &head)) {
        if (end > at && end + head.size - at > most) break;
        end += head.size;
    }
    return end - at;
}

size_t block_numbers(const char *data, size_t size, uint8_t *used, int32_t count) {
    row_head head;
    size_t rows = 0;
    for (size_t at = 0; at < size; at += head.size, rows++) {
        if (!read_head(data, size, at, &head) || head.row.name < 0 || head.row.name >= count || head.row.info >= count) return NO_PLACE;
        used[head.row.name] = 1;
        if (head.row.info >= 0) used[head.row.info] = 1;
    }
    return rows;
}

int block_renumber(char *data, size_t size, const int32_t *to, int32_t count) {
    row_head head;
    for (size_t at = 0; at < size; at += head.size) {
        if (!read_head(data, size, at, &head) || head.row.name < 0 || head.row.name >= count || head.row.info >= count) return 0;
        head.row.name = to[head.row.name];
        if (head.row.info >= 0) head.row.info = to[head.row.info];
        memcpy(data + at, &head, sizeof head);
    }
    return 1;
}

void block_free(row_block *block) {
    free(block->data);
    memset(block, 0, sizeof *block);
}

/* ---- by container and XID: open addressing, without marks for what was removed ---- */

static size_t place_of(const xid_table *table, int64_t container, uint64_t xid) {
    uint64_t hash = (xid ^ (uint64_t)container * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (size_t)(hash ^ hash >> 32) & (table->room - 1);
}

/* The entry's index, or that of the free one where it belongs. */
static size_t look_up(const xid_table *table, int64_t container, uint64_t xid) {
    size_t i = place_of(table, container, xid);
    while (table->entries[i].value != NULL && (table->entries[i].xid != xid || table->entries[i].container != container))
        i = (i + 1) & (table->room - 1);
    return i;
}

void *xid_find(const xid_table *table, int64_t container, uint64_t xid) {
    return table->room ? table->entries[look_up(table, container, xid)].value : NULL;
}

static int grow(xid_table *table) {
    xid_table larger = {NULL, table->room ? 2 * table->room : 64, table->count};
    larger.entries = calloc(larger.room, sizeof *larger.entries);
    if (larger.entries == NULL) return 0;
    for (size_t i = 0; i < table->room; i++) {
        const xid_entry *entry = &table->entries[i];
        if (entry->value != NULL) larger.entries[look_up(&larger, entry->container, entry->xid)] = *entry;
    }
    free(table->entries);
    *table = larger;
    return 1;
}

int xid_put(xid_table *table, int64_t container, uint64_t xid, void *value) {
    if (2 * (table->count + 1) > table->room && !grow(table)) return 0;
    xid_entry *entry = &table->entries[look_up(table, container, xid)];
    table->count += entry->value == NULL;
    *entry = (xid_entry){container, xid, value};
    return 1;
}

void *xid_remove(xid_table *table, int64_t container, uint64_t xid) {
    if (table->room == 0) return NULL;
    size_t hole = look_up(table, container, xid), mask = table->room - 1;
    void *value = table->entries[hole].value;
    if (value == NULL) return NULL;
    table->count--;
    /* What follows and does not lie where it belongs moves into the hole. */
    for (size_t i = (hole + 1) & mask; table->entries[i].value != NULL; i = (i + 1) & mask) {
        size_t home = place_of(table, table->entries[i].container, table->entries[i].xid);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            table->entries[hole] = table->entries[i];
            hole = i;
        }
    }
    table->entries[hole].value = NULL;
    return value;
}

void xid_free(xid_table *table) {
    free(table->entries);
    memset(table, 0, sizeof *table);
}
