/* JSON payloads, as `print.c` and Python print them, to texts made of their pieces: transformations, CloudEvents.

   First it is found where each value of a payload stands, then the pieces are copied. The members have to come in the schema's order and
   without blanks, as they are printed. Anything else is refused (0), and done by Python. */
#ifndef MINERCDC_PIECES_H
#define MINERCDC_PIECES_H

#include "core.h"

enum node_kind {
    NODE_VALUE,  /* a text, number or boolean */
    NODE_STRUCT, /* its members follow it */
    NODE_PASSED, /* a struct whose members are not looked at: it ends with `until` */
    NODE_WHOLE,  /* the whole payload, of which nothing is looked at */
    NODE_REST    /* a member of the payload from which on nothing is looked at */
};

/* A value and all below it; the members of a struct follow it. */
typedef struct {
    const char *member; /* what stands before its value: `{"NAME":` or `,"NAME":`; empty at the top */
    uint32_t member_size;
    uint32_t next; /* number of the first node that is not below it */
    const char *until; /* of NODE_PASSED: its last brace, and what comes after it, which its texts cannot hold */
    uint32_t until_size;
    uint8_t kind; /* enum node_kind */
} node;

/* A value in a payload; `at` is NULL within a struct that is null, or passed. */
typedef struct {
    const char *at;
    size_t size;
} place;

/* Where the values of a payload are, by node, from the node `first` on, which is the payload's. */
int find_places(const node *nodes, uint32_t first, const char *json, size_t size, place *places);

enum piece_kind {
    PIECE_TEXT,     /* `text` */
    PIECE_COPY,     /* from the value `first` to the end of the value `last` */
    PIECE_OPEN,     /* the struct `first` without its last brace */
    PIECE_OR_NULL,  /* the value `first`; null within a struct that is null */
    PIECE_MASKED,   /* null where the value `first` is null, else `text` */
    PIECE_QUOTED,   /* the number or boolean `first` as a text; null stays null */
    PIECE_SUFFIXED, /* the number `first` with `text` after it; null stays null */
    PIECE_BARE,     /* the value `first`, a text without its quotes; null is `null` */
    PIECE_GIVEN,    /* likewise; null and an empty text are refused */
    PIECE_IS_NULL,  /* nothing; refused where the value `first` is not null */
    PIECE_TIME      /* the milliseconds `first` as `YYYY-MM-DDTHH:MM:SS.mmmZ` */
};

typedef struct {
    const char *text;
    uint32_t text_size, first, last;
    uint8_t kind; /* enum piece_kind */
} text_piece;

/* Append a text made of pieces to `out`; when it is refused, something of it may be there. */
int write_pieces(buffer *out, const text_piece *pieces, size_t count, const place *places);

int is_null(const place *value);

/* The content of a text of JSON, which stands between two quotes; refused where it holds more than ASCII in `\u`. */
int put_content(buffer *out, const place *text);

#endif
