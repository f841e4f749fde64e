// Prints the video instructions of PTX files with their parts and places, and what each computes
// for a = 1, b = 2, c = 3.
//
// usage: walk FILE…

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "vptx.hpp"

static void print(const char *name, const vptx_part &part)
{
    if (part.text.data != nullptr) {
        std::cout << "  " << name << ' ' << part.span.start << ".." << part.span.end << ' '
                  << vptx::view(part.text) << '\n';
    }
}

static void walk(const std::string &text)
{
    static const char *const roles[] = {"dtype", "atype",   "btype", "plus one", "saturate",
                                        "mode",  "compare", "scale", "secondary"};
    static const char *const names[] = {"d", "a", "b", "c"};
    const vptx::Module module(text);
    for (const vptx_statement &statement : module.statements()) {
        if (statement.instruction == nullptr) {
            continue;
        }
        const vptx::InstructionView instruction(statement.instruction);
        std::cout << instruction.text() << '\n';
        print("statement", statement.whole);
        print("function", statement.function);
        print(statement.guard_is_negated ? "guard not" : "guard", statement.guard);
        print("mnemonic", statement.mnemonic);
        for (const vptx_modifier &modifier : vptx::modifiers(statement)) {
            print(roles[modifier.role], modifier.part);
        }
        const char *const *name = names;
        for (const vptx_operand &operand : vptx::operands(statement)) {
            print(*name++, operand.whole);
            print(operand.is_register ? "  register" : "  constant", operand.value);
            print("  selector", operand.selector);
        }
        std::cout << "  eval " << instruction.eval(VPTX_SEMANTICS_MANUAL, 1, 2, 3) << '\n';
    }
}

int main(int argc, char **argv)
{
    try {
        for (int at = 1; at < argc; at++) {
            std::ifstream file(argv[at], std::ios::binary);
            if (!file) {
                std::cerr << argv[at] << ": cannot be read\n";
                return 2;
            }
            walk(std::string(std::istreambuf_iterator<char>(file), {}));
        }
    } catch (const vptx::Error &error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
    return 0;
}
