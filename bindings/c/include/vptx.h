/* Reads, checks, evaluates and rewrites the video instructions of NVIDIA PTX.
 *
 * Written by cbindgen from bindings/c/src: edit that, then run bindings/c/test --header.
 *
 * Texts have explicit lengths and need no NUL. A handle (a type without members here) is immutable
 * once it is made, so that any number of threads may use it. It must be freed once, after its last
 * use, by the function for its type; freeing NULL does nothing. All strings, lists and `const`
 * handles that functions return from a handle are valid until that handle is freed.
 *
 * Most functions return a status. If the status is not VPTX_STATUS_OK, the new handle is NULL, and
 * `*error` is an error that the caller must free; if it is VPTX_STATUS_OK, `*error` is NULL.
 * `error` itself may be NULL. A required pointer that is NULL is an error. If a function returns a
 * string or a handle, and the handle that it is given is NULL, it returns a string without data,
 * or NULL.
 *
 * Pointers that are not NULL must be valid and aligned, and point to as many items as the
 * function's comment or its counts say; places for results must differ from each other. */

#ifndef VPTX_H
#define VPTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of the binary interface that the header describes. A program that was compiled with
// the header runs with every library that has the same number.
#define VPTX_ABI_VERSION 1

// The result of a function.
enum vptx_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // All went well.
    VPTX_STATUS_OK = 0,
    // A required pointer is NULL.
    VPTX_STATUS_NULL_ARGUMENT = 1,
    // An argument cannot be used: an unknown number or name, a wrong length.
    VPTX_STATUS_INVALID_ARGUMENT = 2,
    // The text is not one legal video instruction, or the module to rewrite has errors of syntax.
    // The error has findings.
    VPTX_STATUS_ILLEGAL_INSTRUCTION = 3,
    // The target or the PTX version lacks instructions that are needed, or no target is named.
    VPTX_STATUS_UNAVAILABLE = 4,
    // A bug of the library. The call had no effect, and the library can still be used.
    VPTX_STATUS_INTERNAL_ERROR = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_status vptx_status;
#else
typedef uint32_t vptx_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How bad a finding is.
enum vptx_severity
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Worth knowing; nothing to change.
    VPTX_SEVERITY_NOTE = 0,
    // The code is doubtful.
    VPTX_SEVERITY_WARNING = 1,
    // The code is wrong.
    VPTX_SEVERITY_ERROR = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_severity vptx_severity;
#else
typedef uint32_t vptx_severity;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whether a fix keeps the meaning of a text.
enum vptx_applicability
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It keeps the meaning that the text has for ptxas.
    VPTX_APPLICABILITY_SAFE = 0,
    // It is probably what was meant, but may change the meaning.
    VPTX_APPLICABILITY_UNSAFE = 1,
    // It is only for display.
    VPTX_APPLICABILITY_DISPLAY_ONLY = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_applicability vptx_applicability;
#else
typedef uint32_t vptx_applicability;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The role of a modifier.
enum vptx_role
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Type of the destination.
    VPTX_ROLE_DTYPE = 0,
    // Type of source `a`.
    VPTX_ROLE_ATYPE = 1,
    // Type of source `b`.
    VPTX_ROLE_BTYPE = 2,
    // Plus one mode of `vmad`.
    VPTX_ROLE_PLUS_ONE = 3,
    // Saturation to the range of the destination.
    VPTX_ROLE_SATURATE = 4,
    // Shift mode: clamp or wrap.
    VPTX_ROLE_MODE = 5,
    // Comparison of `vset`.
    VPTX_ROLE_COMPARE = 6,
    // Right shift of the result of `vmad`.
    VPTX_ROLE_SCALE = 7,
    // Secondary operation with `c`.
    VPTX_ROLE_SECONDARY = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_role vptx_role;
#else
typedef uint32_t vptx_role;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The language of a text.
enum vptx_language
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // PTX: whole modules or bare statements.
    VPTX_LANGUAGE_PTX = 0,
    // CUDA, OpenCL or C++: the PTX in `asm` statements.
    VPTX_LANGUAGE_CUDA = 1,
    // Python: the PTX of Triton's inline assembly, and of CUDA sources in strings.
    VPTX_LANGUAGE_PYTHON = 2,
    // Mojo: the PTX of its inline assembly.
    VPTX_LANGUAGE_MOJO = 3,
    // Rust: the PTX of `asm!`, and of CUDA sources in strings.
    VPTX_LANGUAGE_RUST = 4,
    // Julia: the PTX of `@asmcall` and `llvmcall`.
    VPTX_LANGUAGE_JULIA = 5,
    // Zig: the PTX of `asm`.
    VPTX_LANGUAGE_ZIG = 6,
    // A notebook of Jupyter: the PTX of its code.
    VPTX_LANGUAGE_NOTEBOOK = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_language vptx_language;
#else
typedef uint32_t vptx_language;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The rules that decide what is an error.
enum vptx_dialect
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The manual.
    VPTX_DIALECT_DOCUMENTED = 0,
    // The assembler: only code that ptxas rejects is an error.
    VPTX_DIALECT_PTXAS = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_dialect vptx_dialect;
#else
typedef uint32_t vptx_dialect;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an instruction computes.
enum vptx_semantics
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The manual.
    VPTX_SEMANTICS_MANUAL = 0,
    // The code of ptxas before 13.3.
    VPTX_SEMANTICS_PTXAS12 = 1,
    // The code of ptxas from 13.3 on.
    VPTX_SEMANTICS_PTXAS13 = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_semantics vptx_semantics;
#else
typedef uint32_t vptx_semantics;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An option of `vptx_rewrite`; several can be added up.
enum vptx_rewrite_flag
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Also replace instructions for which ptxas needs no more machine instructions than for the
    // new PTX.
    VPTX_REWRITE_FLAG_ALL = 1,
    // Write each replaced instruction as a comment.
    VPTX_REWRITE_FLAG_COMMENTS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum vptx_rewrite_flag vptx_rewrite_flag;
#else
typedef uint32_t vptx_rewrite_flag;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The reason why a function failed.
typedef struct vptx_error vptx_error;

// The findings about a text.
typedef struct vptx_findings vptx_findings;

// A text with fixes made.
typedef struct vptx_fixed vptx_fixed;

// C functions and the header that defines them.
typedef struct vptx_functions vptx_functions;

// The PTX texts of a binary, and an error message for each text that cannot be read.
typedef struct vptx_images vptx_images;

// A legal video instruction.
typedef struct vptx_instruction vptx_instruction;

// A text of PTX that was read.
typedef struct vptx_module vptx_module;

// A text that the caller owns.
typedef struct vptx_text vptx_text;

// The tree of a text of PTX, which has every byte of the text and lists all syntax errors.
typedef struct vptx_tree vptx_tree;

// A string without NUL at its end. `data` is NULL if there is no string.
typedef struct vptx_string {
    // The first byte; UTF-8.
    const char *data;
    // The number of bytes.
    size_t size;
} vptx_string;

// Options of a check. All members zero are the defaults. Strings may have no data.
typedef struct vptx_options {
    // A `vptx_language`.
    uint32_t language;
    // A `vptx_dialect`.
    uint32_t dialect;
    // Targets such as `sm_90`, with commas between them, in place of the `.target` of the text.
    struct vptx_string target;
    // A version such as `8.0`, in place of the `.version` of the text.
    struct vptx_string ptx_version;
    // The rules that are reported, with commas between them, in place of the default rules: codes,
    // names, or the start of codes such as `V5`.
    struct vptx_string select;
    // Rules that are reported in addition.
    struct vptx_string extend_select;
    // Rules that are not reported.
    struct vptx_string ignore;
} vptx_options;

// A range of bytes of a text, counted from 0; `end` is excluded.
typedef struct vptx_span {
    // The first byte.
    uint32_t start;
    // The byte after the last.
    uint32_t end;
} vptx_span;

// A line and a column, both from 1. Columns count characters.
typedef struct vptx_position {
    // The line.
    uint32_t line;
    // The column.
    uint32_t column;
} vptx_position;

// A place that a finding points at, with a text.
typedef struct vptx_label {
    // The place.
    struct vptx_span span;
    // What it says about the place.
    struct vptx_string text;
} vptx_label;

// The replacement of a part of a text.
typedef struct vptx_edit {
    // The bytes that are replaced.
    struct vptx_span span;
    // The new text.
    struct vptx_string replacement;
} vptx_edit;

// A way to resolve a finding.
typedef struct vptx_fix {
    // Its effect, in the imperative.
    struct vptx_string title;
    // Whether it keeps the meaning.
    vptx_applicability applicability;
    // The edits in the order of the text, not overlapping.
    const struct vptx_edit *edits;
    // The number of edits.
    size_t edit_count;
} vptx_fix;

// An error, a warning or a note about a text.
typedef struct vptx_finding {
    // The code, such as `V501`.
    struct vptx_string code;
    // The name, such as `result-differs`.
    struct vptx_string name;
    // How bad it is.
    vptx_severity severity;
    // What is wrong.
    struct vptx_string message;
    // What is allowed there, or what to write. May have no data.
    struct vptx_string help;
    // The place.
    struct vptx_span span;
    // Where the place starts.
    struct vptx_position start;
    // Where the place ends, excluded.
    struct vptx_position end;
    // Labels at places in the text; the label at the finding's own place is the first.
    const struct vptx_label *labels;
    // The number of labels.
    size_t label_count;
    // Alternative ways to resolve it.
    const struct vptx_fix *fixes;
    // The number of fixes.
    size_t fix_count;
} vptx_finding;

// A part of a text. `text.data` is NULL if there is no such part.
typedef struct vptx_part {
    // The part.
    struct vptx_string text;
    // Its place in the text of the module.
    struct vptx_span span;
} vptx_part;

// A modifier of an instruction.
typedef struct vptx_modifier {
    // The modifier with its dot.
    struct vptx_part part;
    // Its role.
    vptx_role role;
} vptx_modifier;

// An operand of an instruction.
typedef struct vptx_operand {
    // All of it, with minus and selector.
    struct vptx_part whole;
    // The register or the constant.
    struct vptx_part value;
    // The selector or mask with its dot, if it is written.
    struct vptx_part selector;
    // Whether the value is a register.
    bool is_register;
} vptx_operand;

// A statement that is, or was meant to be, a video instruction.
typedef struct vptx_statement {
    // From guard or mnemonic to `;`.
    struct vptx_part whole;
    // The name of the function that it stands in, if there is one.
    struct vptx_part function;
    // The instruction, which belongs to the module; NULL if the statement has errors. Then all
    // members below are empty.
    const struct vptx_instruction *instruction;
    // The predicate of the guard, without `@` and `!`, if there is one.
    struct vptx_part guard;
    // Whether the guard has a `!`.
    bool guard_is_negated;
    // The mnemonic.
    struct vptx_part mnemonic;
    // The modifiers in the order of the text.
    const struct vptx_modifier *modifiers;
    // The number of modifiers.
    size_t modifier_count;
    // The operands `d`, `a`, `b` and, if there is one, `c`.
    const struct vptx_operand *operands;
    // The number of operands.
    size_t operand_count;
} vptx_statement;

// A node or a leaf of a tree.
typedef struct vptx_tree_node {
    // The kind, in the words of `vptx tree`: `function`, `instruction`, `guard`, `address` … for a
    // node, `mnemonic`, `modifier`, `identifier`, `comment` … for a leaf.
    struct vptx_string kind;
    // Its bytes.
    struct vptx_string text;
    // Its place in the text.
    struct vptx_span span;
    // The node that it is in, as an index into the list. For the module, its own index.
    size_t parent;
    // The index behind the last node or leaf inside it.
    size_t end;
    // Whether it is a leaf. The texts of all leaves, in order, are the whole text.
    bool is_leaf;
} vptx_tree_node;

// A place where a text is no PTX.
typedef struct vptx_tree_error {
    // What is wrong.
    struct vptx_string message;
    // The place. It is empty if something is missing there.
    struct vptx_span span;
} vptx_tree_error;

// A C function that computes an instruction.
typedef struct vptx_function {
    // Its name.
    struct vptx_string name;
    // Whether it takes the word of `a`. The parameters of the function are the words that it
    // takes, in the order `a`, `b`, `c`.
    bool takes_a;
    // Whether it takes the word of `b`.
    bool takes_b;
    // Whether it takes the word of `c`.
    bool takes_c;
} vptx_function;

// A PTX text of a binary.
typedef struct vptx_image {
    // A name for the text, such as `3.sm_90.ptx`.
    struct vptx_string name;
    // The member of an archive that has the text. If archives are nested, the names of all
    // members, from the outermost on, with `!` between them. Empty if the bytes are no archive.
    struct vptx_string member;
    // The target, such as `sm_90`.
    struct vptx_string target;
    // The major version of PTX.
    uint32_t version_major;
    // The minor version of PTX.
    uint32_t version_minor;
    // `none`, `lz4` or `zstd`.
    struct vptx_string compression;
    // The offset in the file at which the entry of the text starts, in bytes.
    uint64_t offset;
    // The text. Each byte that is not UTF-8 is replaced by U+007F.
    struct vptx_string text;
} vptx_image;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the binary interface of the library: compare it with `VPTX_ABI_VERSION`.
uint32_t vptx_abi_version(void);

// The version of the library, such as `0.1.0`.
struct vptx_string vptx_version(void);

// The message of an error.
struct vptx_string vptx_error_message(const struct vptx_error *error);

// The findings about an illegal instruction; NULL for other errors.
const struct vptx_findings *vptx_error_findings(const struct vptx_error *error);

// Frees an error.
void vptx_error_free(struct vptx_error *error);

// Checks a text. Finds what `vptx check` finds, in the order of the text. `options` may be NULL.
vptx_status vptx_check(struct vptx_string text,
                       const struct vptx_options *options,
                       struct vptx_findings **out,
                       struct vptx_error **error);

// All findings.
vptx_status vptx_findings_list(const struct vptx_findings *findings,
                               const struct vptx_finding **out,
                               size_t *count);

// Frees findings.
void vptx_findings_free(struct vptx_findings *findings);

// Makes the fixes of all findings that `vptx_check` finds, in rounds until nothing is left to
// fix. `applicability` is VPTX_APPLICABILITY_SAFE, or VPTX_APPLICABILITY_UNSAFE for all fixes.
// The text must be UTF-8.
vptx_status vptx_fix_all(struct vptx_string text,
                         const struct vptx_options *options,
                         uint32_t applicability,
                         struct vptx_fixed **out,
                         struct vptx_error **error);

// The text with the fixes.
struct vptx_string vptx_fixed_text(const struct vptx_fixed *fixed);

// The number of findings that were fixed; 0 for NULL.
size_t vptx_fixed_count(const struct vptx_fixed *fixed);

// The findings that are left, with places in the new text.
const struct vptx_findings *vptx_fixed_findings(const struct vptx_fixed *fixed);

// Frees a fixed text.
void vptx_fixed_free(struct vptx_fixed *fixed);

// Reads a text of PTX: a whole module, or bare statements. Errors in the text become findings.
// `options` may be NULL; their language must be PTX.
vptx_status vptx_parse(struct vptx_string text,
                       const struct vptx_options *options,
                       struct vptx_module **out,
                       struct vptx_error **error);

// All statements that are, or were meant to be, video instructions, in the order of the text.
vptx_status vptx_module_statements(const struct vptx_module *module,
                                   const struct vptx_statement **out,
                                   size_t *count);

// The findings about the text.
const struct vptx_findings *vptx_module_findings(const struct vptx_module *module);

// The module's `.target`, such as `sm_90`. Without data if there is
// none.
struct vptx_string vptx_module_target(const struct vptx_module *module);

// The module's `.version`, such as `8.0`. Without data if there is
// none.
struct vptx_string vptx_module_version(const struct vptx_module *module);

// Frees a module with its statements and instructions.
void vptx_module_free(struct vptx_module *module);

// Reads any text into a tree that has every byte of it.
vptx_status vptx_tree_parse(struct vptx_string text,
                            struct vptx_tree **out,
                            struct vptx_error **error);

// All nodes and leaves, in the order of the text: a node stands before the nodes and leaves inside
// it. The first node is the module.
vptx_status vptx_tree_nodes(const struct vptx_tree *tree,
                            const struct vptx_tree_node **out,
                            size_t *count);

// The places where the text is no PTX.
vptx_status vptx_tree_errors(const struct vptx_tree *tree,
                             const struct vptx_tree_error **out,
                             size_t *count);

// Frees a tree.
void vptx_tree_free(struct vptx_tree *tree);

// Reads one video instruction. Its `;` may be missing. Every name is taken for a register.
vptx_status vptx_instruction_parse(struct vptx_string text,
                                   struct vptx_instruction **out,
                                   struct vptx_error **error);

// The instruction as the manual spells it, with `;`.
vptx_status vptx_instruction_text(const struct vptx_instruction *instruction,
                                  struct vptx_string *out);

// Frees an instruction that `vptx_instruction_parse` made. An instruction of a module is freed
// with the module.
void vptx_instruction_free(struct vptx_instruction *instruction);

// The new value of `d` for the words of the sources. `semantics` is a `vptx_semantics`. Words that
// the instruction does not read do not matter.
vptx_status vptx_eval(const struct vptx_instruction *instruction,
                      uint32_t semantics,
                      uint32_t a,
                      uint32_t b,
                      uint32_t c,
                      uint32_t *out,
                      struct vptx_error **error);

// The new values of `d` for columns of words. `out` has room for `out_count` words; a source has
// as many words, or one word that is repeated. A source that the instruction does not read may be
// NULL. A source may overlap `out`; the function copies it then.
vptx_status vptx_eval_batch(const struct vptx_instruction *instruction,
                            uint32_t semantics,
                            const uint32_t *a,
                            size_t a_count,
                            const uint32_t *b,
                            size_t b_count,
                            const uint32_t *c,
                            size_t c_count,
                            uint32_t *out,
                            size_t out_count,
                            struct vptx_error **error);

// Replaces video instructions by ordinary PTX where ptxas needs fewer machine instructions for
// that. If `target` has no data, the `.target` of the text counts. `flags` is a sum of
// `vptx_rewrite_flag`s. Statements with errors stay as they are. The text must be UTF-8.
vptx_status vptx_rewrite(struct vptx_string text,
                         struct vptx_string target,
                         uint32_t semantics,
                         uint32_t flags,
                         struct vptx_text **out,
                         struct vptx_error **error);

// Ordinary PTX for one instruction: the cheapest on the target, with the declarations of its
// registers. The status is VPTX_STATUS_UNAVAILABLE if `target` has no data.
vptx_status vptx_to_ptx(const struct vptx_instruction *instruction,
                        struct vptx_string target,
                        uint32_t semantics,
                        struct vptx_text **out,
                        struct vptx_error **error);

// C functions that compute what `count` instructions compute, as `vptx lower --emit c` writes them.
vptx_status vptx_emit_c(const struct vptx_instruction *const *instructions,
                        size_t count,
                        uint32_t semantics,
                        struct vptx_functions **out,
                        struct vptx_error **error);

// The functions in the order of the instructions. Equal instructions have the same function.
vptx_status vptx_functions_list(const struct vptx_functions *functions,
                                const struct vptx_function **out,
                                size_t *count);

// The header that defines the functions.
struct vptx_string vptx_functions_header(const struct vptx_functions *functions);

// Frees functions.
void vptx_functions_free(struct vptx_functions *functions);

// The string of a text.
struct vptx_string vptx_text_string(const struct vptx_text *text);

// Frees a text.
void vptx_text_free(struct vptx_text *text);

// The PTX texts in `size` bytes: of a library, a program, an object, a fat binary, a wheel or
// another archive. For each text that cannot be read, the images have an error message.
vptx_status vptx_extract(const char *bytes,
                         size_t size,
                         struct vptx_images **out,
                         struct vptx_error **error);

// All PTX texts.
vptx_status vptx_images_list(const struct vptx_images *images,
                             const struct vptx_image **out,
                             size_t *count);

// The messages about texts that cannot be read.
vptx_status vptx_images_errors(const struct vptx_images *images,
                               const struct vptx_string **out,
                               size_t *count);

// Frees images.
void vptx_images_free(struct vptx_images *images);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VPTX_H */
