// Replaces `asm` calls made of one video instruction in textual LLVM IR by calls of C functions.
//
// usage: llvm_asm IN.ll OUT.ll OUT.h
//
// OUT.h has the functions, which compute what the code of ptxas 13 does. Compile it to LLVM IR
// with `clang -x c -S -emit-llvm -Dstatic= -Dinline= OUT.h` and link it with OUT.ll. Calls that
// stay are reported.

#include <fstream>
#include <iostream>
#include <regex>
#include <set>

#include "vptx.hpp"

using Words = std::vector<std::string>;
static constexpr vptx_semantics SEMANTICS = VPTX_SEMANTICS_PTXAS13;

static void require(bool holds, const std::string &otherwise)
{
    if (!holds) {
        throw std::runtime_error(otherwise);
    }
}

static Words split(const std::string &text)
{
    static const std::regex comma(", *");
    return Words(std::sregex_token_iterator(text.begin(), text.end(), comma, -1), {});
}

// The bytes of a string in LLVM IR: `\0A` is one.
static std::string decoded(std::string text)
{
    for (std::size_t at = 0; (at = text.find('\\', at)) != text.npos; at++) {
        text.replace(at, 3, 1, static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16)));
    }
    return text;
}

// The arguments for `$0`, `$1`, …, which must be 32-bit words; empty for one that is only written.
static Words arguments(const std::string &constraints, const std::string &given)
{
    Words words, all = split(given);
    auto next = all.begin();
    for (const std::string &it : split(constraints)) {
        if (words.empty() && (it == "=r" || it == "=&r")) {
            words.emplace_back();
        } else if (it == "r" || it == "n" || it == "i" || it == "0") {
            require(next != all.end() && next->rfind("i32 ", 0) == 0, "an argument is no word");
            words.push_back(*next++);
            words[0] = it == "0" ? words.back() : words[0]; // what is tied to `$0`, it reads, too
        } else {
            require(it.rfind("~{", 0) == 0, "constraint " + it);
        }
    }
    return words;
}

static int run(std::istream &in, std::ostream &out, std::ostream &header)
{
    // The result, the text, the constraints, the arguments, and attributes with metadata.
    const std::regex pattern("(\\s*(?:%[^ ]+ = )?(?:tail |notail )?call i32 )asm (?:sideeffect |alignstack )*"
                             "\"([^\"]*)\", \"([^\"]*)\"\\(([^()]*)\\)(.*)");
    const std::regex of_asm("^ #[0-9]+|, !srcloc ![0-9]+"); // wrong for another function
    std::vector<vptx::Instruction> used;
    std::set<std::string> declarations;
    std::smatch match;
    for (std::string line; std::getline(in, line); out << line << '\n') {
        if (!std::regex_match(line, match, pattern)) {
            continue;
        }
        try {
            const Words words = arguments(match[3], match[4]);
            vptx::Instruction instruction(decoded(match[2])); // throws if there is more than one
            const vptx::Module module((*instruction).text());
            const auto operands = vptx::operands(module.statements()[0]);
            require(module.statements()[0].guard.text.data == nullptr, "a guard");
            require(vptx::view(operands[0].value.text) == "$0", "another destination than $0");
            const vptx::Functions functions({instruction}, SEMANTICS);
            const vptx_function &function = functions.list()[0];
            const bool takes[] = {false, function.takes_a, function.takes_b, function.takes_c};
            std::string list, types, comma;
            for (std::size_t at = 0; at < operands.size(); at++) {
                const std::string name(vptx::view(operands[at].value.text));
                if (takes[at]) {
                    const std::string word = name[0] == '$' ? words.at(std::stoul(name.substr(1))) : "";
                    require(!word.empty(), "operand " + name);
                    list += comma + word;
                    types += comma + "i32";
                    comma = ", ";
                }
            }
            const std::string name = "i32 @" + std::string(vptx::view(function.name));
...
