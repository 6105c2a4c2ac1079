/* JSON payloads, as `print.c` and Python print them, to Avro's binary form (Avro 1.12, "Binary encoding").

   The members have to come in the schema's order and without blanks, as they are printed. Anything else is refused (0), and done by Python. */
#ifndef MINERCDC_AVRO_H
#define MINERCDC_AVRO_H

#include "core.h"

enum avro_kind { AVRO_BOOLEAN, AVRO_INTEGER, AVRO_FLOAT, AVRO_DOUBLE, AVRO_STRING, AVRO_BYTES, AVRO_RECORD };

enum avro_null { AVRO_REQUIRED, AVRO_NULL_FIRST, AVRO_NULL_LAST }; /* where null stands in the union */

/* A value and all below it; the members of a record follow it. */
typedef struct {
    const char *member; /* what stands before its value: `{"NAME":` or `,"NAME":`; empty at the top */
    uint32_t member_size;
    uint32_t next; /* number of the first value that is not below it */
    uint8_t kind;  /* enum avro_kind */
    uint8_t null;  /* enum avro_null */
    uint8_t bits;  /* of AVRO_INTEGER: 8, 16, 32 or 64 */
} avro_field;

/* Append a payload to `out`; nothing when it is refused. */
int avro_write(buffer *out, const avro_field *fields, const char *json, size_t size);

/* The number that a text of JSON's grammar has; given by the caller, since C's depends on the locale. */
typedef int (*double_of)(const char *text, size_t size, double *out);
extern double_of read_double;

#endif
