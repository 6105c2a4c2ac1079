/* JSON payloads, as `print.c` and Python print them, to messages of Protocol Buffers (proto3).

   The members have to come in the schema's order and without blanks, as they are printed. Anything else is refused (0), and done by Python. */
#ifndef MINERCDC_PROTOBUF_H
#define MINERCDC_PROTOBUF_H

#include "core.h"

enum protobuf_kind {
    PROTOBUF_BOOLEAN, PROTOBUF_INTEGER, PROTOBUF_FLOAT, PROTOBUF_DOUBLE, PROTOBUF_STRING, PROTOBUF_BYTES,
    PROTOBUF_MESSAGE,
    PROTOBUF_DECIMAL, /* confluent.type.Decimal of Connect's Decimal */
    PROTOBUF_DATE,    /* google.type.Date of Connect's Date */
    PROTOBUF_TIME,    /* google.type.TimeOfDay of Connect's Time */
    PROTOBUF_STAMP    /* google.protobuf.Timestamp of Connect's Timestamp */
};

enum protobuf_presence {
    PROTOBUF_PLAIN,    /* a zero or an empty text is left out */
    PROTOBUF_EXPLICIT, /* label `optional`: only null is left out */
    PROTOBUF_WRAPPED   /* a message of google.protobuf with the value */
};

/* A value and all below it; the fields of a message follow it. */
typedef struct {
    const char *member; /* what stands before its value: `{"NAME":` or `,"NAME":`; empty at the top */
    uint32_t member_size;
    uint32_t next;     /* number of the first value that is not below it */
    uint32_t number;   /* of the field */
    int32_t scale;     /* of PROTOBUF_DECIMAL */
    uint8_t kind;      /* enum protobuf_kind */
    uint8_t presence;  /* enum protobuf_presence, of what is no message */
    uint8_t bits;      /* of PROTOBUF_INTEGER: 8, 16, 32 or 64 */
    uint8_t may_be_null;
} protobuf_field;

/* Append the message of a payload to `out`; nothing when it is refused. */
int protobuf_write(buffer *out, const protobuf_field *fields, const char *json, size_t size);

#endif
