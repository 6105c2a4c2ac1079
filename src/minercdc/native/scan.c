/* Finds the values of a statement. What it takes is the form that LogMiner prints, to the blank; other forms are Python's. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 4096
#define MOST_HEADER 65536

typedef struct {
    const char *begin, *at, *end;
} cursor;

static int skip(cursor *c, const char *text, size_t size) {
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, text, size) != 0) return 0;
    c->at += size;
    return 1;
}

#define SKIP(c, text) skip((c), "" text, sizeof(text) - 1)

/* `"name"`, whose characters are neither apostrophe nor quote, and at least one. */
static int read_name(cursor *c, const char **name, size_t *size) {
    if (!SKIP(c, "\"")) return 0;
    const char *start = c->at;
    while (c->at < c->end && *c->at != '"' && *c->at != '\'') c->at++;
    if (c->at == start || c->at == c->end || *c->at != '"') return 0;
    *name = start;
    *size = (size_t)(c->at - start);
    c->at++;
    return 1;
}

/* The column of a name; the search begins at `near`, since columns come in order nearly always. -1 when there is none. */
static int32_t find_column(const scan_table *table, const char *name, size_t size, uint32_t near) {
    for (uint32_t n = 0, i = near; n < table->count; n++, i++) {
        if (i >= table->count) i = 0;
        const scan_column *column = &table->columns[i];
        if (column->name_size == size && memcmp(column->name, name, size) == 0) return (int32_t)i;
    }
    return -1;
}

static int function_of(const char *name, size_t size) {
    static const struct { const char *name; size_t size; int function; } known[] = {
        {"TO_TIMESTAMP", 12, FUNCTION_TO_TIMESTAMP}, {"TO_DATE", 7, FUNCTION_TO_DATE},
        {"TO_TIMESTAMP_TZ", 15, FUNCTION_TO_TIMESTAMP_TZ}, {"HEXTORAW", 8, FUNCTION_HEXTORAW},
        {"UNISTR", 6, FUNCTION_UNISTR}, {"TO_YMINTERVAL", 13, FUNCTION_TO_YMINTERVAL},
        {"TO_DSINTERVAL", 13, FUNCTION_TO_DSINTERVAL}, {"EMPTY_CLOB", 10, FUNCTION_EMPTY_CLOB},
        {"EMPTY_BLOB", 10, FUNCTION_EMPTY_BLOB},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].size == size && memcmp(known[i].name, name, size) == 0) return known[i].function;
    return -1;
}

static int is_checked(const scan_column *column, int function, const char *text, size_t size, int doubled) {
    number as_number;
    moment as_moment;
    interval as_interval;
    char shortest[32];
    if (function == FUNCTION_UNISTR) return read_unistr(text, size);
    if (column->check == CHECK_ANY) return 1;
    if (doubled) return 0;
    switch (column->check) {
    case CHECK_NUMBER: return read_number(text, size, &as_number);
    case CHECK_SINGLE: return read_float(text, size) && print_float(text, size, 1, shortest);
    case CHECK_DOUBLE: return read_float(text, size) && print_float(text, size, 0, shortest);
    case CHECK_DATE: return read_moment(text, size, SPELLED_DATE, &as_moment);
    case CHECK_TIMESTAMP: return read_moment(text, size, SPELLED_TIMESTAMP, &as_moment);
    case CHECK_ZONED: return read_moment(text, size, SPELLED_ZONED, &as_moment);
    case CHECK_YEAR_MONTH: return read_year_month(text, size, &as_interval);
    case CHECK_DAY_SECOND: return read_day_second(text, size, &as_interval);
    default: return 0;
    }
}

/* A text between apostrophes; the cursor is before the first. */
static int read_quoted(cursor *c, const char **text, size_t *size, int *doubled) {
    if (!SKIP(c, "'")) return 0;
    const char *start = c->at;
    *doubled = 0;
    for (;;) {
        const char *quote = memchr(c->at, '\'', (size_t)(c->end - c->at));
        if (quote == NULL) return 0;
        c->at = quote + 1;
        if (c->at == c->end || *c->at != '\'') {
            *text = start;
            *size = (size_t)(quote - start);
            return 1;
        }
        *doubled = 1;
        c->at++;
    }
}

static int read_call(cursor *c, const scan_column *column, cell *out) {
    const char *name = c->at, *text, *ignored;
    size_t size, ignored_size;
    int doubled, ignored_doubled;
    while (c->at < c->end && ((*c->at >= 'A' && *c->at <= 'Z') || *c->at == '_')) c->at++;
    int function = function_of(name, (size_t)(c->at - name));
    int is_known = function >= 0;
    if (c->at == name || !SKIP(c, "(")) return 0;
    if (SKIP(c, ")")) {
        if (function != FUNCTION_EMPTY_CLOB && function != FUNCTION_EMPTY_BLOB) return 0;
        if (column->position >= 0 && column->uses[function] == USE_REFUSED) return 0;
        *out = (cell){.kind = CELL_EMPTY};
        return 1;
    }
    if (!read_quoted(c, &text, &size, &doubled)) return 0;
    while (SKIP(c, ", "))
        if (!read_quoted(c, &ignored, &ignored_size, &ignored_doubled)) return 0;
    if (!SKIP(c, ")")) return 0;
    if (column->position < 0) return 1;
    if (!is_known || column->uses[function] == USE_REFUSED) return 0;
    if (column->uses[function] == USE_CHECKED && !is_checked(column, function, text, size, doubled)) return 0;
    int kind = function == FUNCTION_UNISTR ? CELL_UNISTR : doubled ? CELL_DOUBLED : CELL_TEXT;
    *out = (cell){(uint32_t)(text - c->begin), (uint32_t)size, (uint8_t)kind, (uint8_t)function};
    return 1;
}

static int read_value(cursor *c, const scan_column *column, cell *out) {
    if (c->at == c->end) return 0;
    /* before values of JSON columns */
    if (*c->at == '/' && (!SKIP(c, "/* JSON */ ") || c->at == c->end)) return 0;
    if (*c->at == '\'') {
        const char *text;
        size_t size;
        int doubled;
        if (!read_quoted(c, &text, &size, &doubled)) return 0;
        if (column->position < 0) return 1;
        int use = column->uses[FUNCTION_NONE];
        if (use == USE_REFUSED || (use == USE_CHECKED && !is_checked(column, FUNCTION_NONE, text, size, doubled))) return 0;
        *out = (cell){(uint32_t)(text - c->begin), (uint32_t)size, (uint8_t)(doubled ? CELL_DOUBLED : CELL_TEXT), FUNCTION_NONE};
        return 1;
    }
    if (SKIP(c, "NULL")) {
        *out = (cell){.kind = CELL_NULL};
        return 1;
    }
    if (SKIP(c, "Unsupported Type")) {
        *out = (cell){.kind = CELL_ABSENT};
        return 1;
    }
    return read_call(c, column, out);
}

static int at_end(cursor *c) {
    while (c->end > c->at && (c->end[-1] == ' ' || c->end[-1] == '\n')) c->end--;
    SKIP(c, ";");
    return c->at == c->end;
}

static int learn_header(scan_table *table, cursor *c) {
    const char *name;
    size_t size;
    int32_t *order = NULL;
    uint32_t count = 0, room = 0;
    if (!SKIP(c, "insert into ") || !read_name(c, &name, &size) || !SKIP(c, ".") || !read_name(c, &name, &size) || !SKIP(c, "("))
        return 0;
    do {
        if (!read_name(c, &name, &size) || count >= MOST_COLUMNS) goto refused;
        if (count == room) {
            room = room ? 2 * room : 32;
            int32_t *more = realloc(order, room * sizeof *order);
            if (more == NULL) goto refused;
            order = more;
        }
        order[count] = find_column(table, name, size, count);
        if (order[count++] < 0) goto refused;
    } while (SKIP(c, ","));
    if (!SKIP(c, ") values (")) goto refused;
    size_t header_size = (size_t)(c->at - c->begin);
    char *header = header_size <= MOST_HEADER ? malloc(header_size) : NULL;
    if (header == NULL) goto refused;
    memcpy(header, c->begin, header_size);
    free(table->header);
    free(table->order);
    table->header = header;
    table->header_size = header_size;
    table->order = order;
    table->order_count = count;
    return 1;
refused:
    free(order);
    return 0;
}

static int scan_insert(scan_table *table, cursor *c, cell *after) {
    cell ignored;
    if (table->header == NULL || !skip(c, table->header, table->header_size))
        if (!learn_header(table, c)) return 0;
    for (uint32_t i = 0; i < table->width; i++) after[i] = (cell){.kind = table->columns[i].absent};
    for (uint32_t i = 0; i < table->order_count; i++) {
        const scan_column *column = &table->columns[table->order[i]];
        if (i && !SKIP(c, ",")) return 0;
        if (!read_value(c, column, column->position < 0 ? &ignored : &after[column->position])) return 0;
    }
    return SKIP(c, ")") && at_end(c);
}

/* `[a.]"name"`; the column's index, -1 when it is not known. */
static int32_t read_column(const scan_table *table, cursor *c, uint32_t near) {
    const char *name;
    size_t size;
    SKIP(c, "a.");
    if (near < table->count) {
        const scan_column *next = &table->columns[near];
        size_t left = (size_t)(c->end - c->at);
        if (left > next->name_size + 1u && c->at[0] == '"' && c->at[next->name_size + 1] == '"'
            && memcmp(c->at + 1, next->name, next->name_size) == 0) {
            c->at += next->name_size + 2;
            return (int32_t)near;
        }
    }
    return read_name(c, &name, &size) ? find_column(table, name, size, near) : -1;
}

static int scan_conditions(const scan_table *table, cursor *c, cell *before) {
    cell ignored;
    uint32_t near = 0;
    for (uint32_t i = 0; i < table->width; i++) before[i] = (cell){.kind = CELL_ABSENT};
    if (!SKIP(c, " where ")) return 0;
    do {
        if (SKIP(c, "ROWID = ")) {
            const char *text;
            size_t size;
            int doubled;
            if (!read_quoted(c, &text, &size, &doubled)) return 0;
            continue;
        }
        int32_t i = read_column(table, c, near);
        if (i < 0) return 0;
        near = (uint32_t)i + 1;
        const scan_column *column = &table->columns[i];
        cell *out = column->position < 0 ? &ignored : &before[column->position];
        if (SKIP(c, " IS NULL")) *out = (cell){.kind = CELL_NULL};
        else if (!SKIP(c, " = ") || !read_value(c, column, out)) return 0;
    } while (SKIP(c, " and "));
    return at_end(c);
}

static int scan_assignments(const scan_table *table, cursor *c, cell *after, uint32_t *assigned) {
    cell ignored;
    uint32_t near = 0;
    for (uint32_t i = 0; i < table->width; i++) after[i].kind = CELL_UNSET;
    do {
        int32_t i = read_column(table, c, near);
        if (i < 0) return 0;
        near = (uint32_t)i + 1;
        const scan_column *column = &table->columns[i];
        if (!SKIP(c, " = ") || !read_value(c, column, column->position < 0 ? &ignored : &after[column->position])) return 0;
        *assigned += column->position >= 0;
    } while (SKIP(c, ", "));
    return 1;
}

int scan_statement(scan_table *table, const char *sql, size_t size, cell *before, cell *after, uint32_t *assigned) {
    cursor c = {sql, sql, sql + size};
    const char *name;
    size_t name_size;
    *assigned = 0;
    if (size > UINT32_MAX / 2) return OPERATION_NONE;
    if (size && *sql == 'i') return scan_insert(table, &c, after) ? OPERATION_INSERT : OPERATION_NONE;
    if (SKIP(&c, "delete from ")) {
        if (!read_name(&c, &name, &name_size) || !SKIP(&c, ".") || !read_name(&c, &name, &name_size)) return OPERATION_NONE;
        if ((size_t)(c.end - c.at) > 2 && c.at[0] == ' ' && c.at[1] == 'a' && c.at[2] == ' ') c.at += 2;
        return scan_conditions(table, &c, before) ? OPERATION_DELETE : OPERATION_NONE;
    }
    if (!SKIP(&c, "update ") || !read_name(&c, &name, &name_size) || !SKIP(&c, ".") || !read_name(&c, &name, &name_size)
        || !SKIP(&c, " "))
        return OPERATION_NONE;
    SKIP(&c, "a ");
    if (!SKIP(&c, "set ") || !scan_assignments(table, &c, after, assigned) || !scan_conditions(table, &c, before))
        return OPERATION_NONE;
    for (uint32_t i = 0; i < table->width; i++)
        if (after[i].kind == CELL_UNSET) after[i] = before[i];
    return OPERATION_UPDATE;
}

void scan_table_free(scan_table *table) {
    free(table->columns);
    free(table->header);
    free(table->order);
    memset(table, 0, sizeof *table);
}
