/* The connector prints an envelope in one order of members: the row's images, then `source`, whose members are at known places from the end of the
   text. What is read here is what lake/read/envelope.py and lake/stream/change_log.py read in SQL, which is the reference. */
#define _GNU_SOURCE /* memmem */
#include "envelope.h"

#include <stdlib.h>
#include <string.h>

/* --- the members of the envelope, by their place from the end of what the commas separate */

enum { END_BYTES = 700, PARTS = 27 };
enum { TS_MS = 27, SNAPSHOT = 26, SCN = 18, COMMIT_SCN = 17, ROW_ID = 10, COMMIT_TS_MS = 9, TX_SEQ = 6, OP = 4 };
enum { SCN_DIGITS = 18, TIME_DIGITS = 15 }; /* more of them may not fit */

#define TEXT(literal) (literal), sizeof(literal) - 1

static const char SOURCE_BEGINS[] = ",\"source\":{\"version\":\"";
static const char SCHEMA_BEGINS[] = "{\"schema\":";
static const char PAYLOAD_FOLLOWS[] = ",\"payload\":{\"before\":";
static const char PAYLOAD_BEGINS[] = "{\"payload\":{\"before\":";
static const char LONG_VALUE[] = "\"value\":\"";
enum { LONG_DIGITS = 12 };

static const char *find(const char *at, const char *end, const char *text, size_t size) {
    return memmem(at, (size_t)(end - at), text, size);
}

static int begins(span text, const char *with, size_t size) {
    return text.size >= (int64_t)size && memcmp(text.at, with, size) == 0;
}

/* The last 27 parts that commas separate, the last one as parts[1]. */
static int parts_of(span value, span *parts) {
    const char *end = value.at + value.size, *least = value.size > END_BYTES ? end - END_BYTES : value.at;
    for (int i = 1; i <= PARTS; i++) {
        const char *at = end;
        while (at > least && at[-1] != ',') at--;
        if (at == least) return 0;
        parts[i] = (span){at, end - at};
        end = at - 1;
    }
    return 1;
}

/* What follows the name, with its quotes and colon, in a part. */
static int value_of(span part, const char *name, size_t size, span *value) {
    if (!begins(part, name, size)) return 0;
    *value = (span){part.at + size, part.size - (int64_t)size};
    return 1;
}

static int is_null(span value) { return value.size == 4 && memcmp(value.at, "null", 4) == 0; }

static int digits_of(span text, int most, int64_t *number) {
    if (text.size < 1 || text.size > most || (text.size > 1 && text.at[0] == '0')) return 0;
    *number = 0;
    for (int64_t i = 0; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return 0;
        *number = *number * 10 + (text.at[i] - '0');
    }
    return 1;
}

static int is_plain(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '/';
}

/* A string that is printed as it is, without its quotes. */
static int plain_string(span value, span *content) {
    if (value.size < 3 || value.at[0] != '"' || value.at[value.size - 1] != '"') return 0;
    *content = (span){value.at + 1, value.size - 2};
    for (int64_t i = 0; i < content->size; i++)
        if (!is_plain(content->at[i])) return 0;
    return 1;
}

static int is_one_of(span text, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (text.size == (int64_t)strlen(names[i]) && memcmp(text.at, names[i], (size_t)text.size) == 0) return 1;
    return 0;
}

typedef struct {
    int64_t scn, commit_scn, seq, commit_ms;
    span op, row_id;
    int initial;
} members;

static int read_members(span value, int wrapped, members *out) {
    static const char *const INITIAL[] = {"first", "first_in_data_collection", "true", "last_in_data_collection", "last"};
    span parts[PARTS + 1], ts_ms, snapshot, scn, commit_scn, row_id, commit_ts, seq, op, content;
    if (value.size < 2 || value.at[value.size - 1] != '}' || (wrapped && value.at[value.size - 2] != '}')) return 0;
    if (!parts_of(value, parts)) return 0;
    if (!value_of(parts[TS_MS], TEXT("\"ts_ms\":"), &ts_ms) || !value_of(parts[SNAPSHOT], TEXT("\"snapshot\":"), &snapshot)) return 0;
    if (!value_of(parts[SCN], TEXT("\"scn\":"), &scn) || !value_of(parts[COMMIT_SCN], TEXT("\"commit_scn\":"), &commit_scn)) return 0;
    if (!value_of(parts[ROW_ID], TEXT("\"row_id\":"), &row_id) || !value_of(parts[COMMIT_TS_MS], TEXT("\"commit_ts_ms\":"), &commit_ts)) return 0;
    if (!value_of(parts[TX_SEQ], TEXT("\"txSeq\":"), &seq) || !value_of(parts[OP], TEXT("\"op\":"), &op)) return 0;
    if (seq.size < 2 || seq.at[seq.size - 1] != '}') return 0;
    seq.size--;
    if (!plain_string(op, &out->op) || out->op.size != 1) return 0;
    if (!plain_string(scn, &content) || !digits_of(content, SCN_DIGITS, &out->scn)) return 0;
    out->commit_scn = out->scn;
    if (!is_null(commit_scn) && (!plain_string(commit_scn, &content) || !digits_of(content, SCN_DIGITS, &out->commit_scn))) return 0;
    out->seq = 0;
    if (!is_null(seq) && !digits_of(seq, SCN_DIGITS, &out->seq)) return 0;
    if (!digits_of(is_null(commit_ts) ? ts_ms : commit_ts, TIME_DIGITS, &out->commit_ms)) return 0;
    out->row_id = (span){NULL, -1};
    if (!is_null(row_id) && !plain_string(row_id, &out->row_id)) return 0;
    if (!plain_string(snapshot, &content)) return 0;
    out->initial = out->op.at[0] == 'r' && is_one_of(content, INITIAL, 5);
    return 1;
}

/* The text of the images, which `begin`, `rest` and the closing braces make. */
static int images_of(span value, int wrapped, span *begin, span *rest) {
    const char *end = find(value.at, value.at + value.size, TEXT(SOURCE_BEGINS)), *found, *last = NULL;
    if (!end) return 0;
    *begin = (span){NULL, 0};
    *rest = (span){value.at, end - value.at};
    if (!wrapped) return 1;
    if (begins(*rest, TEXT(PAYLOAD_BEGINS))) return 1;
    if (!begins(value, TEXT(SCHEMA_BEGINS))) return 0;
    for (found = value.at; (found = find(found, end, TEXT(PAYLOAD_FOLLOWS))) != NULL; found++) last = found;
    if (!last) return 0;
    *begin = (span){TEXT(PAYLOAD_BEGINS)};
    rest->at = last + sizeof(PAYLOAD_FOLLOWS) - 1;
    rest->size = end - rest->at;
    return 1;
}

/* --- what the texts of a record hold */

static int holds(span text, span wanted) {
    return text.size >= 0 && find(text.at, text.at + text.size, wanted.at, (size_t)wanted.size) != NULL;
}

static int is_base64(char c) { return is_plain(c) && c != '_'; }

/* A number of more than eight bytes, in base64. */
static int has_long_number(span text) {
    if (text.size < 0) return 0;
    const char *at = text.at, *end = text.at + text.size;
    while ((at = find(at, end, TEXT(LONG_VALUE))) != NULL) {
        int count = 0;
        for (at += sizeof(LONG_VALUE) - 1; at < end && count < LONG_DIGITS && is_base64(*at); at++) count++;
        if (count == LONG_DIGITS) return 1;
    }
    return 0;
}

/* --- columns */

static int put(grown *out, const void *at, size_t size) {
    if (out->size + size > out->room || !out->at) {
        size_t room = (out->size + size) * 2 + 1024;
        char *grown_to = realloc(out->at, room);
        if (!grown_to) return 0;
        out->at = grown_to;
        out->room = room;
    }
    if (size) memcpy(out->at + out->size, at, size);
    out->size += size;
    return 1;
}

static int put_byte(grown *out, int byte) {
    char one = (char)byte;
    return put(out, &one, 1);
}

static int put_long(grown *out, int64_t value) { return put(out, &value, sizeof value); }

static int end_text(text_column *out, int valid) {
    int32_t end = (int32_t)out->text.size;
    out->nulls += !valid;
    return put(&out->ends, &end, sizeof end) && put_byte(&out->valid, valid);
}

static int put_text(text_column *out, span text) {
    return (text.size < 0 || put(&out->text, text.at, (size_t)text.size)) && end_text(out, text.size >= 0);
}

static int put_images(text_column *out, span begin, span rest, int wrapped, span *images) {
    size_t before = out->text.size;
    if (!put(&out->text, begin.at, (size_t)begin.size) || !put(&out->text, rest.at, (size_t)rest.size)) return 0;
    if (!put(&out->text, "}}", wrapped ? 2 : 1) || !end_text(out, 1)) return 0;
    *images = (span){out->text.at + before, (int64_t)(out->text.size - before)};
    return 1;
}

static int overflows(const log_columns *out, const log_record *record) {
    const text_column *const columns[] = {&out->value, &out->key, &out->old_key, &out->unavailable};
    const int64_t more[] = {record->value.size, record->key.size, record->old_key.size, record->unavailable.size};
    for (int i = 0; i < 4; i++)
        if ((int64_t)columns[i]->text.size + more[i] + 64 > INT32_MAX) return 1;
    return 0;
}

int scan_record(const scan_plan *plan, const log_record *record, log_columns *out) {
    members found;
    span begin, rest, images;
    if (record->value.size < 0 || overflows(out, record)) return READ_LEFT;
    if (!read_members(record->value, plan->value_wrapped, &found) || !images_of(record->value, plan->value_wrapped, &begin, &rest)) return READ_LEFT;
    /* The key may have the ROWID, and an old key may have to be wrapped. */
    if (found.row_id.size < 0 && (holds(record->key, plan->rowid_member) || holds(record->key, (span){"\\", 1}))) return READ_LEFT;
    if (plan->key_wrapped && record->old_key.size >= 0) return READ_LEFT;
    if (!put_images(&out->value, begin, rest, plan->value_wrapped, &images)) return READ_NO_MEMORY;
    int partial = record->unavailable.size >= 0 || holds(images, plan->placeholders[0]) || holds(images, plan->placeholders[1]);
    int is_long = has_long_number(images) || has_long_number(record->key) || has_long_number(record->old_key);
    if (!put(&out->partition, &record->partition, sizeof record->partition) || !put_long(&out->offset, record->offset)) return READ_NO_MEMORY;
    if (!put_long(&out->scn, found.scn) || !put_long(&out->commit_scn, found.commit_scn) || !put_long(&out->seq, found.seq)) return READ_NO_MEMORY;
    if (!put_long(&out->commit_us, found.commit_ms * 1000) || !put_byte(&out->initial, found.initial)) return READ_NO_MEMORY;
    if (!put_byte(&out->partial, partial) || !put_byte(&out->long_number, is_long)) return READ_NO_MEMORY;
    if (!put_text(&out->op, found.op) || !put_text(&out->row_id, found.row_id) || !put_text(&out->key, record->key)) return READ_NO_MEMORY;
    if (!put_text(&out->unavailable, record->unavailable) || !put_text(&out->old_key, record->old_key)) return READ_NO_MEMORY;
    out->count++;
    return READ_DONE;
}

size_t columns_size(const log_columns *columns) {
    return columns->value.text.size + columns->key.text.size + columns->old_key.text.size + columns->unavailable.text.size +
           (size_t)columns->count * 100;
}

void free_columns(log_columns *columns) {
    grown *const fixed[] = {&columns->partition, &columns->offset,  &columns->scn,     &columns->commit_scn, &columns->seq,
                            &columns->commit_us, &columns->initial, &columns->partial, &columns->long_number};
    text_column *const texts[] = {&columns->op, &columns->row_id, &columns->key, &columns->value, &columns->unavailable, &columns->old_key};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) free(fixed[i]->at);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free(texts[i]->ends.at);
        free(texts[i]->text.at);
        free(texts[i]->valid.at);
    }
    memset(columns, 0, sizeof *columns);
}
