// The C library of vptx for C++17: handles that free themselves, string views, and exceptions.
//
// Views, lists and references into a handle live as long as that handle. Handles are immutable, so
// that any number of threads may use one.

#ifndef VPTX_HPP
#define VPTX_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vptx.h"

namespace vptx {

inline std::string_view view(vptx_string text) noexcept { return {text.data, text.size}; }

inline vptx_string string(std::string_view text) noexcept { return {text.data(), text.size()}; }

// Items that belong to a handle.
template <typename T>
class List {
public:
    List() = default;
    List(const T *items, std::size_t count) noexcept : items_(items), count_(count) {}
    const T *begin() const noexcept { return items_; }
    const T *end() const noexcept { return items_ + count_; }
    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    const T &operator[](std::size_t at) const noexcept { return items_[at]; }

private:
    const T *items_ = nullptr;
    std::size_t count_ = 0;
};

inline List<vptx_label> labels(const vptx_finding &it) noexcept { return {it.labels, it.label_count}; }
inline List<vptx_fix> fixes(const vptx_finding &it) noexcept { return {it.fixes, it.fix_count}; }
inline List<vptx_edit> edits(const vptx_fix &it) noexcept { return {it.edits, it.edit_count}; }

inline List<vptx_modifier> modifiers(const vptx_statement &it) noexcept
{
    return {it.modifiers, it.modifier_count};
}

inline List<vptx_operand> operands(const vptx_statement &it) noexcept
{
    return {it.operands, it.operand_count};
}

// The operands of a statement that a C function of its instruction takes, in the order of its
// parameters.
inline std::vector<vptx_operand> arguments(const vptx_statement &it, const vptx_function &function)
{
    const bool takes[] = {false, function.takes_a, function.takes_b, function.takes_c};
    std::vector<vptx_operand> taken;
    for (std::size_t at = 0; at < it.operand_count; at++) {
        if (takes[at]) {
            taken.push_back(it.operands[at]);
        }
    }
    return taken;
}

namespace detail {

inline List<vptx_finding> findings(const vptx_findings *handle) noexcept
{
    const vptx_finding *items = nullptr;
    std::size_t count = 0;
    // Only errors about instructions have findings.
    if (handle != nullptr) {
        vptx_findings_list(handle, &items, &count);
    }
    return {items, count};
}

} // namespace detail

// The failure of a function.
class Error : public std::runtime_error {
public:
    Error(vptx_status status, vptx_error *error)
        : std::runtime_error(error ? std::string(view(vptx_error_message(error)))
                                   : "an argument is NULL"),
          status_(status),
          error_(error, vptx_error_free)
    {
    }
    vptx_status status() const noexcept { return status_; }
    // The findings about an illegal instruction; empty for other errors.
    List<vptx_finding> findings() const noexcept
    {
        return detail::findings(vptx_error_findings(error_.get()));
    }

private:
    vptx_status status_;
    // Copies of an exception share the handle.
    std::shared_ptr<vptx_error> error_;
};

namespace detail {

template <typename T, void (*Free)(T *)>
struct Freed {
    void operator()(T *handle) const noexcept { Free(handle); }
};

template <typename T, void (*Free)(T *)>
using Handle = std::unique_ptr<T, Freed<T, Free>>;

inline void check(vptx_status status, vptx_error *error)
{
    if (status != VPTX_STATUS_OK) {
        throw Error(status, error);
    }
}

// Calls `make` and returns the new handle; throws `Error` if it fails.
template <typename T, typename Make>
T *made(Make make)
{
    T *handle = nullptr;
    vptx_error *error = nullptr;
    const vptx_status status = make(&handle, &error);
    check(status, error);
    return handle;
}

// Calls `get` and returns the list; throws `Error` if it fails.
template <typename T, typename Get>
List<T> list(Get get)
{
    const T *items = nullptr;
    std::size_t count = 0;
    const vptx_status status = get(&items, &count);
    check(status, nullptr);
    return {items, count};
}

} // namespace detail

// The options of a check. All members zero are the defaults.
using Options = vptx_options;

// An instruction that another object owns.
class InstructionView {
public:
    explicit InstructionView(const vptx_instruction *handle) noexcept : handle_(handle) {}
    const vptx_instruction *get() const noexcept { return handle_; }

    // The instruction as the manual spells it.
    std::string_view text() const
    {
        vptx_string text = {nullptr, 0};
        const vptx_status status = vptx_instruction_text(handle_, &text);
        detail::check(status, nullptr);
        return view(text);
    }

    std::uint32_t eval(vptx_semantics semantics, std::uint32_t a, std::uint32_t b,
                       std::uint32_t c = 0) const
    {
        std::uint32_t out = 0;
        vptx_error *error = nullptr;
        const vptx_status status = vptx_eval(handle_, semantics, a, b, c, &out, &error);
        detail::check(status, error);
        return out;
    }

    // A source has as many words as `out`, or one word that is repeated.
    void eval_batch(vptx_semantics semantics, List<std::uint32_t> a, List<std::uint32_t> b,
                    List<std::uint32_t> c, std::uint32_t *out, std::size_t count) const
    {
        vptx_error *error = nullptr;
        const vptx_status status =
            vptx_eval_batch(handle_, semantics, a.begin(), a.size(), b.begin(), b.size(), c.begin(),
                            c.size(), out, count, &error);
        detail::check(status, error);
    }

    // Ordinary PTX: the cheapest on a target such as `sm_90`.
    std::string to_ptx(std::string_view target, vptx_semantics semantics) const
    {
        const detail::Handle<vptx_text, vptx_text_free> text(
            detail::made<vptx_text>([&](auto out, auto error) {
                return vptx_to_ptx(handle_, string(target), semantics, out, error);
            }));
        return std::string(view(vptx_text_string(text.get())));
    }

private:
    const vptx_instruction *handle_;
};

// A legal video instruction.
class Instruction {
public:
    explicit Instruction(std::string_view text)
        : handle_(detail::made<vptx_instruction>([&](auto out, auto error) {
              return vptx_instruction_parse(string(text), out, error);
          }))
    {
    }
    InstructionView operator*() const noexcept { return InstructionView(handle_.get()); }
    operator InstructionView() const noexcept { return **this; }

private:
    detail::Handle<vptx_instruction, vptx_instruction_free> handle_;
};

// The findings about a text.
class Findings {
public:
    explicit Findings(std::string_view text, const Options &options = {})
        : handle_(detail::made<vptx_findings>([&](auto out, auto error) {
              return vptx_check(string(text), &options, out, error);
          }))
    {
    }
    List<vptx_finding> list() const noexcept { return detail::findings(handle_.get()); }

private:
    detail::Handle<vptx_findings, vptx_findings_free> handle_;
};

// A text with fixes made.
class Fixed {
public:
    explicit Fixed(std::string_view text, const Options &options = {},
                   vptx_applicability most = VPTX_APPLICABILITY_SAFE)
        : handle_(detail::made<vptx_fixed>([&](auto out, auto error) {
              return vptx_fix_all(string(text), &options, most, out, error);
          }))
    {
    }
    std::string_view text() const noexcept { return view(vptx_fixed_text(handle_.get())); }
    // The number of findings that were fixed.
    std::size_t count() const noexcept { return vptx_fixed_count(handle_.get()); }
    // The findings that are left, with places in the new text.
    List<vptx_finding> findings() const noexcept
    {
        return detail::findings(vptx_fixed_findings(handle_.get()));
    }

private:
    detail::Handle<vptx_fixed, vptx_fixed_free> handle_;
};

// A text of PTX that was read.
class Module {
public:
    explicit Module(std::string_view text, const Options &options = {})
        : handle_(detail::made<vptx_module>([&](auto out, auto error) {
              return vptx_parse(string(text), &options, out, error);
          }))
    {
    }
    List<vptx_statement> statements() const
    {
        return detail::list<vptx_statement>([this](auto items, auto count) {
            return vptx_module_statements(handle_.get(), items, count);
        });
    }
    List<vptx_finding> findings() const noexcept
    {
        return detail::findings(vptx_module_findings(handle_.get()));
    }
    std::string_view target() const noexcept { return view(vptx_module_target(handle_.get())); }
    std::string_view version() const noexcept { return view(vptx_module_version(handle_.get())); }

private:
    detail::Handle<vptx_module, vptx_module_free> handle_;
};

// The tree of a text of PTX, which has every byte of the text and lists all syntax errors.
class Tree {
public:
    explicit Tree(std::string_view text)
        : handle_(detail::made<vptx_tree>([&](auto out, auto error) {
              return vptx_tree_parse(string(text), out, error);
          }))
    {
    }
    // A node stands before the nodes and leaves inside it. The first node is the module.
    List<vptx_tree_node> nodes() const
    {
        return detail::list<vptx_tree_node>([this](auto items, auto count) {
            return vptx_tree_nodes(handle_.get(), items, count);
        });
    }
    List<vptx_tree_error> errors() const
    {
        return detail::list<vptx_tree_error>([this](auto items, auto count) {
            return vptx_tree_errors(handle_.get(), items, count);
        });
    }

private:
    detail::Handle<vptx_tree, vptx_tree_free> handle_;
};

// C functions that compute what instructions compute.
class Functions {
public:
    Functions(const std::vector<InstructionView> &instructions, vptx_semantics semantics)
        : handle_(make(instructions, semantics))
    {
    }
    // In the order of the instructions.
    List<vptx_function> list() const
    {
        return detail::list<vptx_function>([this](auto items, auto count) {
            return vptx_functions_list(handle_.get(), items, count);
        });
    }
    std::string_view header() const noexcept { return view(vptx_functions_header(handle_.get())); }

private:
    static vptx_functions *make(const std::vector<InstructionView> &instructions,
                                vptx_semantics semantics)
    {
        std::vector<const vptx_instruction *> all;
        for (const InstructionView it : instructions) {
            all.push_back(it.get());
        }
        return detail::made<vptx_functions>([&](auto out, auto error) {
            return vptx_emit_c(all.data(), all.size(), semantics, out, error);
        });
    }

    detail::Handle<vptx_functions, vptx_functions_free> handle_;
};

// A module with ordinary PTX in the place of video instructions. `flags` are a sum of
// `vptx_rewrite_flag`s.
inline std::string rewrite(std::string_view text, vptx_semantics semantics,
                           std::string_view target = {}, std::uint32_t flags = 0)
{
    const detail::Handle<vptx_text, vptx_text_free> rewritten(
        detail::made<vptx_text>([&](auto out, auto error) {
            return vptx_rewrite(string(text), string(target), semantics, flags, out, error);
        }));
    return std::string(view(vptx_text_string(rewritten.get())));
}

// The PTX texts of a binary or an archive.
class Images {
public:
    explicit Images(std::string_view bytes)
        : handle_(detail::made<vptx_images>([&](auto out, auto error) {
              return vptx_extract(bytes.data(), bytes.size(), out, error);
          }))
    {
    }
    List<vptx_image> list() const
    {
        return detail::list<vptx_image>([this](auto items, auto count) {
            return vptx_images_list(handle_.get(), items, count);
        });
    }
    // The messages about texts that cannot be read.
    List<vptx_string> errors() const
    {
        return detail::list<vptx_string>([this](auto items, auto count) {
            return vptx_images_errors(handle_.get(), items, count);
        });
    }

private:
    detail::Handle<vptx_images, vptx_images_free> handle_;
};

} // namespace vptx

#endif
