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

// The bytes of a string in LLVM IR, where `\0A` stands for one byte.
static std::string decoded(std::string text)
{
    for (std::size_t at = 0; (at = text.find('\\', at)) != text.npos; at++) {
        text.replace(at, 3, 1, static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16)));
    }
    return text;
}

// The arguments for `$0`, `$1`, …, which must be 32-bit words. An operand that is only written has
// an empty one.
static Words arguments(const std::string &constraints, const std::string &given)
{
    Words words, all = split(given);
    auto next = all.begin();
    for (const std::string &it : split(constraints)) {
        if (it == "=r" || it == "=&r") {
            words.emplace_back();
        } else if (it.rfind("~{", 0) != 0) {
            const bool is_word = next != all.end() && next->rfind("i32 ", 0) == 0;
            require(is_word && std::regex_match(it, std::regex("[rni0]")), "no word for " + it);
            words.push_back(*next++);
            words[0] = it == "0" ? words.back() : words[0]; // what is tied to `$0` is read as `$0`
        }
    }
    return words;
}

// The call that replaces an `asm` of one instruction. Adds the instruction to those used.
static std::string call(const std::string &text, const Words &words,
                        std::vector<vptx::Instruction> &used)
{
    vptx::Instruction instruction(text); // throws if there is anything else
    const vptx::Module module((*instruction).text());
    const vptx_statement &statement = module.statements()[0];
    require(statement.guard.text.data == nullptr, "a guard");
    require(vptx::view(statement.operands[0].value.text) == "$0", "another destination than $0");
    const vptx::Functions functions({instruction}, SEMANTICS);
    const vptx_function &function = functions.list()[0];
    std::string list;
    for (const vptx_operand &operand : vptx::arguments(statement, function)) {
        const std::string name(vptx::view(operand.value.text));
        const std::string word = name[0] == '$' ? words.at(std::stoul(name.substr(1))) : "";
        require(!word.empty(), "operand " + name);
        list += (list.empty() ? "" : ", ") + word;
    }
    used.push_back(std::move(instruction));
    return "i32 @" + std::string(vptx::view(function.name)) + "(" + list + ")";
}

int main(int argc, char **argv)
try {
    std::ifstream in(argc == 4 ? argv[1] : "");
    require(in.good(), "usage: llvm_asm IN.ll OUT.ll OUT.h");
    std::ofstream out(argv[2]), header(argv[3]);
    std::vector<vptx::Instruction> used;
    std::set<std::string> declarations;
    // The start, the text, the constraints, the arguments, and attributes with metadata.
    const std::regex pattern("(\\s*(?:%[^ ]+ = )?(?:tail |notail )?call )i32 asm (?:sideeffect |"
                             "alignstack )*\"([^\"]*)\", \"([^\"]*)\"\\(([^()]*)\\)(.*)");
    const std::regex of_asm("^ #[0-9]+|, !srcloc ![0-9]+"), argument("i32 [^@,)]+");
    std::smatch match;
    for (std::string line; std::getline(in, line); out << line << '\n') {
        try {
            if (std::regex_match(line, match, pattern)) {
                const auto by = call(decoded(match[2]), arguments(match[3], match[4]), used);
                declarations.insert("declare " + std::regex_replace(by, argument, "i32") + "\n");
                line = match[1].str() + by + std::regex_replace(match[5].str(), of_asm, "");
            }
        } catch (const std::exception &error) {
            std::cerr << argv[1] << ": left: " << match[2] << ": " << error.what() << '\n';
        }
    }
    for (const std::string &declaration : declarations) {
        out << declaration;
    }
    header << vptx::Functions({used.begin(), used.end()}, SEMANTICS).header();
    require(!in.bad() && out.flush() && header.flush(), "a file cannot be read or written");
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 2;
}
