/* Parses and prints instructions, for a comparison with the same in Rust.
 *
 * usage: round_trips COUNT LINES */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vptx.h"

enum { LINES = 1000, LENGTH = 200 };

static char lines[LINES][LENGTH];

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
    size_t count = 0, printed = 0;
    if (file == NULL) {
        fputs("usage: round_trips COUNT LINES\n", stderr);
        return 2;
    }
    while (count < LINES && fgets(lines[count], LENGTH, file) != NULL) {
        lines[count][strcspn(lines[count], "\n")] = '\0';
        count += lines[count][0] != '\0' && lines[count][0] != '/';
    }
    fclose(file);
    for (long left = atol(argv[1]), at = 0; left > 0; left--, at++) {
        const char *line = lines[(size_t)at % count];
        const vptx_string text = {line, strlen(line)};
        vptx_instruction *instruction;
        vptx_string own;
        if (vptx_instruction_parse(text, &instruction, NULL) != VPTX_STATUS_OK ||
            vptx_instruction_text(instruction, &own) != VPTX_STATUS_OK) {
            fprintf(stderr, "not read: %s\n", line);
            return 1;
        }
        printed += own.size;
        vptx_instruction_free(instruction);
    }
    printf("%zu bytes\n", printed);
    return 0;
}
