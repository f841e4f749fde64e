// Replaces `asm` calls made of one video instruction in textual LLVM IR by calls of C functions.
//
// usage: llvm_asm IN.ll OUT.ll OUT.h
//
// OUT.h has the functions, which compute what the code of ptxas 13 does. Compile it to LLVM IR
// with `clang -x c -S -emit-llvm -Dstatic= -Dinline= OUT.h` and link it with OUT.ll. Calls that
// stay are reported.

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "vptx.hpp"

static constexpr vptx_semantics SEMANTICS = VPTX_SEMANTICS_PTXAS13;

static std::vector<std::string> split(const std::string &text)
{
    std::vector<std::string> items;
    std::istringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');) {
        items.push_back(item.substr(std::min(item.find_first_not_of(' '), item.size())));
    }
    return items;
}

// The text of a string in LLVM IR: `\0A` is a byte.
static std::string decoded(const std::string &text)
{
    std::string bytes;
    for (std::size_t at = 0; at < text.size(); at++) {
        if (text[at] == '\\' && at + 2 < text.size()) {
            bytes += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16));
            at += 2;
        } else {
            bytes += text[at];
        }
    }
    return bytes;
}

// The argument for each operand `$0`, `$1`, …; throws if there are others than 32-bit words.
static std::vector<std::string> arguments(const std::string &constraints, const std::string &given)
{
    std::vector<std::string> words, all = split(given);
    std::size_t next = 0;
    for (const std::string &constraint : split(constraints)) {
        if (words.empty() && (constraint == "=r" || constraint == "=&r")) {
            words.emplace_back();
        } else if (constraint == "r" || constraint == "n" || constraint == "i" || constraint == "0") {
            if (next == all.size() || all[next].compare(0, 4, "i32 ") != 0) {
                throw std::runtime_error("an argument is no word");
            }
            // One that is tied to the output is what `$0` reads, too.
            if (constraint == "0") {
                words.at(0) = all[next];
            }
            words.push_back(all[next++]);
        } else if (constraint.compare(0, 2, "~{") != 0) {
            throw std::runtime_error("constraint " + constraint);
        }
    }
    return words;
}

// The function's name and the arguments of a call that replaces an `asm`.
static std::pair<std::string, std::string> call(const std::string &text,
                                                const std::vector<std::string> &words,
                                                std::vector<std::unique_ptr<vptx::Instruction>> &used)
{
    const vptx::Module module(text);
    if (module.statements().size() != 1) {
        throw std::runtime_error("not one video instruction");
    }
    const vptx_statement &statement = module.statements()[0];
    auto instruction = std::make_unique<vptx::Instruction>(text); // legal, and nothing beside it
    const auto operands = vptx::operands(statement);
    if (statement.guard.text.data != nullptr || vptx::view(operands[0].value.text) != "$0") {
        throw std::runtime_error("a guard, or another destination than $0");
    }
    const vptx::Functions functions({**instruction}, SEMANTICS);
    const vptx_function &function = functions.list()[0];
    const bool takes[] = {function.takes_a, function.takes_b, function.takes_c};
    std::string list;
    for (std::size_t at = 1; at < operands.size(); at++) {
        const std::string name(vptx::view(operands[at].value.text));
        if (takes[at - 1]) {
            const std::string &word = name[0] == '$' ? words.at(std::stoul(name.substr(1))) : "";
            if (word.empty()) {
                throw std::runtime_error("operand " + name);
            }
            list += (list.empty() ? "" : ", ") + word;
        }
    }
    used.push_back(std::move(instruction));
    return {std::string(vptx::view(function.name)), list};
}

static void run(char **paths)
{
    // The result, the call, the text, the constraints, the arguments, attributes and metadata.
    static const std::regex pattern(
        "(\\s*(?:%[^ ]+ = )?(?:tail |notail )?call i32 )asm (?:sideeffect |alignstack )*"
        "\"([^\"]*)\", \"([^\"]*)\"\\(([^()]*)\\)(.*)");
    std::ifstream in(paths[0]);
    std::ofstream out(paths[1]), header(paths[2]);
    std::map<std::string, std::string> declared;
    std::vector<std::unique_ptr<vptx::Instruction>> used;
    for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (std::regex_match(line, match, pattern)) {
            try {
                const auto [name, list] =
                    call(decoded(match[2]), arguments(match[3], match[4]), used);
                declared[name] = std::regex_replace(list, std::regex("i32 [^,]+"), "i32");
                // A group of attributes would be that of `asm`.
                const std::string rest =
                    std::regex_replace(match[5].str(), std::regex("^ #[0-9]+|, !srcloc ![0-9]+"), "");
                line = match[1].str() + "@" + name + "(" + list + ")" + rest;
            } catch (const std::exception &error) {
                std::cerr << paths[0] << ": left: " << match[2] << ": " << error.what() << '\n';
            }
        }
        out << line << '\n';
    }
    for (const auto &[name, parameters] : declared) {
        out << "declare i32 @" << name << "(" << parameters << ")\n";
    }
    std::vector<vptx::InstructionView> instructions;
    for (const auto &instruction : used) {
        instructions.push_back(**instruction);
    }
    header << vptx::Functions(instructions, SEMANTICS).header();
    if (in.bad() || !out.flush() || !header.flush()) {
        throw std::runtime_error("a file cannot be read or written");
    }
}

int main(int argc, char **argv)
{
    if (argc != 4 || !std::ifstream(argv[1])) {
        std::cerr << "usage: llvm_asm IN.ll OUT.ll OUT.h\n";
        return 2;
    }
    try {
        run(argv + 1);
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
    return 0;
}
