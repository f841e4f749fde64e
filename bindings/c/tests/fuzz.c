/* Calls every function of the library with valid pointers to random contents.
 *
 * usage: fuzz SECONDS SEED FILE…
 *
 * The texts are pieces of the files with random changes. Reads every byte that the library returns,
 * so that a sanitizer or valgrind reports bytes that are not valid memory. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vptx.h"

enum { TEXT = 3000, WORDS = 300 };

static uint64_t state;
static char **files;
static int file_count;
static volatile unsigned char sink;
static vptx_status seen;

static uint32_t random_below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return bound == 0 ? 0 : (uint32_t)(state >> 32) % bound;
}

static int rarely(void) { return random_below(16) == 0; }

static void read_bytes(const void *data, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        sink ^= ((const unsigned char *)data)[at];
    }
}

static void read_string(vptx_string text) { read_bytes(text.data, text.size); }

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

static void read_findings(const vptx_findings *findings)
{
    const vptx_finding *list;
    size_t count;
    const vptx_status status = vptx_findings_list(findings, &list, &count);
    require((findings == NULL) == (status == VPTX_STATUS_NULL_ARGUMENT), "findings of NULL");
    if (status != VPTX_STATUS_OK) {
        return;
    }
    for (size_t at = 0; at < count; at++) {
        const vptx_finding *it = &list[at];
        read_string(it->code);
        read_string(it->name);
        read_string(it->message);
        read_string(it->help);
        require(it->span.start <= it->span.end, "a span");
        for (size_t label = 0; label < it->label_count; label++) {
            read_string(it->labels[label].text);
        }
        for (size_t fix = 0; fix < it->fix_count; fix++) {
            read_string(it->fixes[fix].title);
            for (size_t edit = 0; edit < it->fixes[fix].edit_count; edit++) {
                read_string(it->fixes[fix].edits[edit].replacement);
            }
        }
    }
}

/* Checks status, handle and error after a function that makes a handle. */
static int made(vptx_status status, const void *handle, vptx_error *error)
{
    require(status <= VPTX_STATUS_UNAVAILABLE, "an internal error");
    require((status == VPTX_STATUS_OK) == (error == NULL), "an error without a failure");
    require((status == VPTX_STATUS_OK) == (handle != NULL), "a handle of a failure");
    seen |= (vptx_status)1 << status;
    if (error != NULL) {
        read_string(vptx_error_message(error));
        if (status == VPTX_STATUS_ILLEGAL_INSTRUCTION) {
            read_findings(vptx_error_findings(error));
        }
        vptx_error_free(error);
    }
    return handle != NULL;
}

/* A piece of a file in memory of exactly its size. */
static vptx_string random_text(void)
{
    vptx_string text = {NULL, 0};
    FILE *file = fopen(files[random_below((uint32_t)file_count)], "rb");
    if (rarely() || file == NULL) {
        if (file != NULL) {
            fclose(file);
        }
        /* NULL with a length. */
        text.size = rarely() ? random_below(9) : 0;
        return text;
    }
    static char buffer[TEXT];
    fseek(file, 0, SEEK_END);
    const long length = ftell(file);
    if (length > TEXT) {
        fseek(file, (long)random_below((uint32_t)(length - TEXT)), SEEK_SET);
    } else {
        rewind(file);
    }
    const size_t size = fread(buffer, 1, TEXT, file);
    fclose(file);
    /* The text may start after the first line break. */
    const char *start = memchr(buffer, '\n', size);
    size_t first = random_below(2) && start != NULL ? (size_t)(start - buffer) + 1 : 0;
    char *bytes = malloc(size - first + 1);
    require(bytes != NULL, "no memory");
    memcpy(bytes, buffer + first, size - first);
    for (uint32_t changes = random_below(2) ? random_below(8) : 0; changes > 0 && size > first;
         changes--) {
        char *at = &bytes[random_below((uint32_t)(size - first))];
        *at = random_below(2) ? (char)random_below(256) : ";.,@-0 \n{}"[random_below(10)];
    }
    text.data = realloc(bytes, size - first + (size == first));
    text.size = size - first;
    return text;
}

static vptx_string word(const char *const *words, uint32_t count)
{
    vptx_string text = {NULL, 0};
    if (random_below(2)) {
        text.data = words[random_below(count)];
        text.size = strlen(text.data);
    }
    return text;
}

static vptx_string random_target(void)
{
    static const char *const targets[] = {"sm_90", "sm_20", "sm_52,sm_100a", "sm_", "\xff"};
    return word(targets, 5);
}

static const vptx_options *random_options(vptx_options *options)
{
    static const char *const rules[] = {"V5", "V101,result-differs", "all", "V", ",", "\n"};
    static const char *const versions[] = {"8.0", "1.0", "9", "x"};
    memset(options, 0, sizeof *options);
    options->language = random_below(rarely() ? 9 : 2);
    options->dialect = random_below(rarely() ? 9 : 2);
    if (rarely()) {
        options->target = random_target();
        options->ptx_version = word(versions, 4);
        options->select = word(rules, 6);
        options->extend_select = word(rules, 6);
        options->ignore = word(rules, 6);
    }
    return random_below(2) ? options : NULL;
}

static void use_text(vptx_status status, vptx_text *text, vptx_error *error)
{
    if (made(status, text, error)) {
        read_string(vptx_text_string(text));
    }
    vptx_text_free(text);
}

static void use_instruction(const vptx_instruction *instruction)
{
    vptx_string text;
    uint32_t word = 0;
    vptx_error *error;
    vptx_status status = vptx_instruction_text(instruction, &text);
    require((instruction != NULL) == (status == VPTX_STATUS_OK), "the text of an instruction");
    if (status == VPTX_STATUS_OK) {
        read_string(text);
    }
    status = vptx_eval(instruction, random_below(4), random_below(~0u), random_below(~0u),
                       random_below(~0u), rarely() ? NULL : &word, &error);
    made(status, status == VPTX_STATUS_OK ? &word : NULL, error);

    /* Columns in memory of their own, or a column in the memory of the result. */
    const size_t count = random_below(WORDS);
    uint32_t *columns[4] = {NULL, NULL, NULL, NULL};
    size_t counts[4];
    for (int at = 0; at < 4; at++) {
        counts[at] = at == 3 ? count : rarely() ? random_below(WORDS) : random_below(3) ? count : 1;
        columns[at] = calloc(counts[at] + 1, sizeof(uint32_t));
    }
    uint32_t *out = rarely() ? NULL : columns[random_below(2) ? 3 : 0];
    const size_t out_count = out == columns[0] ? counts[0] : count;
    status = vptx_eval_batch(instruction, random_below(4), columns[0], counts[0], columns[1],
                             counts[1], rarely() ? NULL : columns[2], counts[2], out, out_count,
                             &error);
    made(status, status == VPTX_STATUS_OK ? &word : NULL, error);
    if (status == VPTX_STATUS_OK && out != NULL) {
        read_bytes(out, out_count * sizeof *out);
    }
    for (int at = 0; at < 4; at++) {
        free(columns[at]);
    }

    vptx_text *ptx;
    status = vptx_to_ptx(instruction, random_target(), random_below(4), &ptx, &error);
    use_text(status, ptx, error);

    const vptx_instruction *const both[2] = {instruction, instruction};
    vptx_functions *functions;
    status = vptx_emit_c(both, random_below(3), random_below(4), &functions, &error);
    if (made(status, functions, error)) {
        const vptx_function *list;
        size_t function_count;
        require(vptx_functions_list(functions, &list, &function_count) == VPTX_STATUS_OK, "a list");
        for (size_t at = 0; at < function_count; at++) {
            read_string(list[at].name);
        }
        read_string(vptx_functions_header(functions));
    }
    vptx_functions_free(functions);
}

static void read_part(const vptx_part *part, vptx_string text)
{
    read_string(part->text);
    require(part->span.start <= part->span.end && part->span.end <= text.size, "a span");
    if (part->text.data != NULL) {
        require(part->text.size == part->span.end - part->span.start, "a part");
    }
}

static void use_module(vptx_string text, const vptx_options *options)
{
    vptx_module *module;
    vptx_error *error;
    const vptx_statement *list = NULL;
    size_t count = 0;
    const vptx_status status = vptx_parse(text, options, &module, &error);
    if (made(status, module, error)) {
        require(vptx_module_statements(module, &list, &count) == VPTX_STATUS_OK, "statements");
        read_findings(vptx_module_findings(module));
    }
    read_string(vptx_module_target(module));
    read_string(vptx_module_version(module));
    for (size_t at = 0; at < count; at++) {
        read_part(&list[at].whole, text);
        read_part(&list[at].function, text);
        read_part(&list[at].guard, text);
        read_part(&list[at].mnemonic, text);
        for (size_t item = 0; item < list[at].modifier_count; item++) {
            read_part(&list[at].modifiers[item].part, text);
        }
        for (size_t item = 0; item < list[at].operand_count; item++) {
            read_part(&list[at].operands[item].whole, text);
            read_part(&list[at].operands[item].value, text);
            read_part(&list[at].operands[item].selector, text);
        }
        if (rarely()) {
            vptx_instruction *own;
            vptx_error *failure;
            use_instruction(list[at].instruction);
            const vptx_status read = vptx_instruction_parse(list[at].whole.text, &own, &failure);
            made(read, own, failure);
            vptx_instruction_free(own);
        }
    }
    vptx_module_free(module);
}

static void use_tree(vptx_string text)
{
    vptx_tree *tree;
    vptx_error *error;
    const vptx_status status = vptx_tree_parse(text, &tree, &error);
    if (made(status, tree, error)) {
        const vptx_tree_node *nodes;
        const vptx_tree_error *errors;
        size_t count;
        uint32_t end = 0;
        require(vptx_tree_nodes(tree, &nodes, &count) == VPTX_STATUS_OK, "nodes");
        require(count > 0 && nodes[0].end == count, "a module");
        for (size_t at = 0; at < count; at++) {
            const vptx_tree_node *it = &nodes[at];
            read_string(it->kind);
            read_string(it->text);
            require(it->text.size == it->span.end - it->span.start, "the text of a node");
            require(it->parent <= at && it->end > at && it->end <= nodes[it->parent].end, "a node");
            require(!it->is_leaf || it->span.start == end, "a leaf behind the one before");
            end = it->is_leaf ? it->span.end : end;
        }
        require(end == text.size, "every byte");
        require(vptx_tree_errors(tree, &errors, &count) == VPTX_STATUS_OK, "errors");
        for (size_t at = 0; at < count; at++) {
            read_string(errors[at].message);
            require(errors[at].span.end <= text.size, "the place of an error");
        }
    }
    vptx_tree_free(tree);
}

static void step(void)
{
    const vptx_string text = random_text();
    vptx_options place;
    const vptx_options *options = random_options(&place);
    vptx_error *error;
    vptx_status status;
    switch (random_below(6)) {
    case 0: {
        vptx_findings *findings;
        status = vptx_check(text, options, &findings, &error);
        if (made(status, findings, error)) {
            read_findings(findings);
        }
        vptx_findings_free(findings);
        break;
    }
    case 1: {
        vptx_fixed *fixed;
        status = vptx_fix_all(text, options, random_below(3), &fixed, &error);
        if (made(status, fixed, error)) {
            read_findings(vptx_fixed_findings(fixed));
            sink ^= (unsigned char)vptx_fixed_count(fixed);
        }
        read_string(vptx_fixed_text(fixed));
        vptx_fixed_free(fixed);
        break;
    }
    case 2: {
        vptx_text *rewritten;
        status = vptx_rewrite(text, random_target(), random_below(4), random_below(5), &rewritten,
                              &error);
        use_text(status, rewritten, error);
        break;
    }
    case 3: {
        vptx_images *images;
        status = vptx_extract(text.data, text.size, &images, &error);
        if (made(status, images, error)) {
            const vptx_image *list;
            const vptx_string *errors;
            size_t count;
            require(vptx_images_list(images, &list, &count) == VPTX_STATUS_OK, "images");
            for (size_t at = 0; at < count; at++) {
                read_string(list[at].name);
                read_string(list[at].member);
                read_string(list[at].target);
                read_string(list[at].compression);
                read_string(list[at].text);
            }
            require(vptx_images_errors(images, &errors, &count) == VPTX_STATUS_OK, "errors");
            for (size_t at = 0; at < count; at++) {
                read_string(errors[at]);
            }
        }
        vptx_images_free(images);
        break;
    }
    case 4:
        use_tree(text);
        use_module(text, options);
        break;
    default: {
        vptx_instruction *instruction;
        status = vptx_instruction_parse(text, &instruction, &error);
        made(status, instruction, error);
        use_instruction(instruction);
        vptx_instruction_free(instruction);
    }
    }
    free((void *)text.data);
}

/* NULL in every place where a pointer can stand. */
static void nothing(void)
{
    const vptx_string none = {NULL, 0};
    const vptx_status null = VPTX_STATUS_NULL_ARGUMENT;
    require(vptx_abi_version() == VPTX_ABI_VERSION, "another ABI");
    read_string(vptx_version());
    require(vptx_check(none, NULL, NULL, NULL) == null, "check");
    require(vptx_fix_all(none, NULL, 0, NULL, NULL) == null, "fix");
    require(vptx_parse(none, NULL, NULL, NULL) == null, "parse");
    require(vptx_tree_parse(none, NULL, NULL) == null, "tree");
    require(vptx_tree_nodes(NULL, NULL, NULL) == null, "nodes");
    require(vptx_tree_errors(NULL, NULL, NULL) == null, "errors of a tree");
    require(vptx_instruction_parse(none, NULL, NULL) == null, "instruction");
    require(vptx_instruction_text(NULL, NULL) == null, "instruction text");
    require(vptx_eval(NULL, 0, 0, 0, 0, NULL, NULL) == null, "eval");
    require(vptx_eval_batch(NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == null, "batch");
    require(vptx_rewrite(none, none, 0, 0, NULL, NULL) == null, "rewrite");
    require(vptx_to_ptx(NULL, none, 0, NULL, NULL) == null, "to_ptx");
    require(vptx_emit_c(NULL, 1, 0, NULL, NULL) == null, "emit_c");
    require(vptx_extract(NULL, 1, NULL, NULL) == null, "extract");
    require(vptx_findings_list(NULL, NULL, NULL) == null, "findings");
    require(vptx_module_statements(NULL, NULL, NULL) == null, "statements");
    require(vptx_functions_list(NULL, NULL, NULL) == null, "functions");
    require(vptx_images_list(NULL, NULL, NULL) == null, "images");
    require(vptx_images_errors(NULL, NULL, NULL) == null, "errors of images");
    require(vptx_error_message(NULL).data == NULL && vptx_error_findings(NULL) == NULL, "error");
    require(vptx_fixed_findings(NULL) == NULL && vptx_fixed_count(NULL) == 0, "fixed");
    require(vptx_module_findings(NULL) == NULL && vptx_module_target(NULL).data == NULL, "module");
    require(vptx_functions_header(NULL).data == NULL && vptx_text_string(NULL).data == NULL, "text");
    vptx_error_free(NULL);
    vptx_findings_free(NULL);
    vptx_fixed_free(NULL);
    vptx_module_free(NULL);
    vptx_tree_free(NULL);
    vptx_instruction_free(NULL);
    vptx_functions_free(NULL);
    vptx_text_free(NULL);
    vptx_images_free(NULL);
}

int main(int argc, char **argv)
{
    unsigned long steps = 0;
    if (argc < 4) {
        fputs("usage: fuzz SECONDS SEED FILE...\n", stderr);
        return 2;
    }
    const time_t end = time(NULL) + atol(argv[1]);
    state = 0x9e3779b97f4a7c15u ^ strtoul(argv[2], NULL, 10);
    files = argv + 3;
    file_count = argc - 3;
    nothing();
    do {
        step();
        steps++;
    } while (time(NULL) < end);
    printf("%lu steps, statuses seen: %#x\n", steps, (unsigned)seen);
    return 0;
}
