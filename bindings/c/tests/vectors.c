/* Compares `vptx_eval` and `vptx_eval_batch` with recorded results.
 *
 * usage: vectors fixtures/oracle/vectors.tsv */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vptx.h"

enum { ROOM = 4096 };

static char name[1024];
static uint32_t words[6][ROOM];
static size_t count;
static unsigned long checked, wrong;

static void expect(int is_right, const char *what)
{
    checked++;
    if (!is_right) {
        wrong++;
        fprintf(stderr, "%s: %s\n", name, what);
    }
}

/* Computes the rows of an instruction. */
static void finish(void)
{
    const vptx_string text = {name, strlen(name)};
    vptx_instruction *instruction;
    if (count == 0) {
        return;
    }
    if (vptx_instruction_parse(text, &instruction, NULL) != VPTX_STATUS_OK) {
        expect(0, "not read");
        return;
    }
    for (uint32_t semantics = 0; semantics < 3; semantics++) {
        const uint32_t *expected = words[3 + semantics];
        uint32_t out[ROOM + 1], first[ROOM];
        out[count] = 0x5eed;
        expect(vptx_eval_batch(instruction, semantics, words[0], count, words[1], count, words[2],
                               count, out, count, NULL) == VPTX_STATUS_OK &&
                   memcmp(out, expected, count * sizeof *out) == 0 && out[count] == 0x5eed,
               "a batch");
        /* In place: the result overwrites `a`. */
        memcpy(first, words[0], count * sizeof *first);
        expect(vptx_eval_batch(instruction, semantics, first, count, words[1], count, words[2],
                               count, first, count, NULL) == VPTX_STATUS_OK &&
                   memcmp(first, expected, count * sizeof *first) == 0,
               "a batch in place");
        for (size_t at = 0; at < count; at++) {
            uint32_t one;
            expect(vptx_eval(instruction, semantics, words[0][at], words[1][at], words[2][at], &one,
                             NULL) == VPTX_STATUS_OK &&
                       one == expected[at],
                   "one row");
            /* Columns of one word, which is repeated. */
            expect(vptx_eval_batch(instruction, semantics, &words[0][at], 1, &words[1][at], 1,
                                   &words[2][at], 1, out, 3, NULL) == VPTX_STATUS_OK &&
                       out[0] == one && out[1] == one && out[2] == one,
                   "one row, repeated");
        }
    }
    vptx_instruction_free(instruction);
    count = 0;
}

int main(int argc, char **argv)
{
    char line[1024];
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fputs("usage: vectors VECTORS.tsv\n", stderr);
        return 2;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *tab = strchr(line, '\t');
        if (line[0] == '#' || tab == NULL) {
            continue;
        }
        *tab = '\0';
        if (strcmp(name, line) != 0 || count == ROOM) {
            finish();
            snprintf(name, sizeof name, "%s", line);
        }
        for (int column = 0; column < 6; column++) {
            words[column][count] = (uint32_t)strtoul(tab + 1, &tab, 16);
        }
        count++;
    }
    finish();
    fclose(file);
    printf("%lu comparisons, %lu wrong\n", checked, wrong);
    return checked == 0 || wrong > 0;
}
