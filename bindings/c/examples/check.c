/* Prints the findings about files.
 *
 * usage: check [--language NUMBER] FILE…
 *
 * The exit status is 1 if there are errors, and 2 if a file cannot be read. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vptx.h"

static vptx_string read_file(const char *path)
{
    vptx_string text = {NULL, 0};
    FILE *file = fopen(path, "rb");
    size_t room = 4096, size = 0;
    char *bytes = file == NULL ? NULL : malloc(room);
    while (bytes != NULL) {
        size += fread(bytes + size, 1, room - size, file);
        if (size < room) {
            break;
        }
        room *= 2;
        char *more = realloc(bytes, room);
        if (more == NULL) {
            free(bytes);
        }
        bytes = more;
    }
    if (bytes != NULL && ferror(file)) {
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (bytes != NULL) {
        text.data = bytes;
        text.size = size;
    }
    return text;
}

static void print(const char *path, const vptx_finding *finding)
{
    static const char *const severities[] = {"note", "warning", "error"};
    printf("%s:%u:%u: %s[%.*s] %.*s\n", path, (unsigned)finding->start.line,
           (unsigned)finding->start.column, severities[finding->severity], (int)finding->code.size,
           finding->code.data, (int)finding->message.size, finding->message.data);
}

/* Returns the exit status for a file. */
static int check(const char *path, const vptx_options *options)
{
    const vptx_string text = read_file(path);
    if (text.data == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 2;
    }
    vptx_findings *findings;
    vptx_error *error;
    int status = 0;
    if (vptx_check(text, options, &findings, &error) != VPTX_STATUS_OK) {
        const vptx_string message = vptx_error_message(error);
        fprintf(stderr, "%s: %.*s\n", path, (int)message.size, message.data);
        status = 2;
    } else {
        const vptx_finding *list;
        size_t count;
        vptx_findings_list(findings, &list, &count);
        for (size_t at = 0; at < count; at++) {
            print(path, &list[at]);
            if (list[at].severity == VPTX_SEVERITY_ERROR) {
                status = 1;
            }
        }
    }
    vptx_error_free(error);
    vptx_findings_free(findings);
    free((void *)text.data);
    return status;
}

int main(int argc, char **argv)
{
    vptx_options options = {0};
    int at = 1, status = 0;
    if (argc > 2 && strcmp(argv[1], "--language") == 0) {
        options.language = (uint32_t)strtoul(argv[2], NULL, 10);
        at = 3;
    }
    for (; at < argc; at++) {
        const int own = check(argv[at], &options);
        status = own > status ? own : status;
    }
    return status;
}
