// Prints what the library finds in a file as JSON, for the comparison with the program.
//
// usage: dump findings LANGUAGE FILE… | dump fixed LANGUAGE FILE | dump images FILE

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "vptx.hpp"

static std::string quoted(std::string_view text)
{
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            json += {'\\', c};
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            json += escape;
        } else {
            json += c;
        }
    }
    return json + '"';
}

static std::string quoted(vptx_string text) { return quoted(vptx::view(text)); }

static std::string pair(const char *first, unsigned a, const char *second, unsigned b)
{
    return quoted(first) + ':' + std::to_string(a) + ',' + quoted(second) + ':' + std::to_string(b);
}

static std::string span(const vptx_span &it) { return pair("start", it.start, "end", it.end); }

static std::string position(const vptx_position &it)
{
    return "{" + pair("line", it.line, "column", it.column) + "}";
}

static void print(const char *path, const vptx_finding &it)
{
    static const char *const severities[] = {"note", "warning", "error"};
    static const char *const applicabilities[] = {"safe", "unsafe", "display-only"};
    std::string json = "{\"path\":" + quoted(path) + ",\"code\":" + quoted(it.code);
    json += ",\"name\":" + quoted(it.name) + ",\"severity\":" + quoted(severities[it.severity]);
    json += ",\"message\":" + quoted(it.message);
    json += ",\"help\":" + (it.help.data == nullptr ? "null" : quoted(it.help));
    json += ",\"span\":{" + span(it.span) + "},\"start\":" + position(it.start);
    json += ",\"end\":" + position(it.end) + ",\"labels\":[";
    const char *comma = "";
    for (const vptx_label &label : vptx::labels(it)) {
        json += comma + ("{" + span(label.span)) + ",\"text\":" + quoted(label.text) + "}";
        comma = ",";
    }
    json += "],\"fixes\":[";
    comma = "";
    for (const vptx_fix &fix : vptx::fixes(it)) {
        json += comma + ("{\"title\":" + quoted(fix.title));
        json += ",\"applicability\":" + quoted(applicabilities[fix.applicability]);
        json += ",\"edits\":[";
        comma = "";
        for (const vptx_edit &edit : vptx::edits(fix)) {
            json += comma + ("{" + span(edit.span));
            json += ",\"replacement\":" + quoted(edit.replacement) + "}";
            comma = ",";
        }
        json += "]}";
        comma = ",";
    }
    std::cout << json << "]}\n";
}

static std::string read(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error(std::string(path) + ": cannot be read");
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char **argv)
{
    const std::string what = argc > 2 ? argv[1] : "";
    try {
        if (what == "images") {
            const vptx::Images images(read(argv[2]));
            for (const vptx_image &it : images.list()) {
                std::cout << "{\"name\":" << quoted(it.name) << ",\"target\":" << quoted(it.target)
                          << ",\"text\":" << quoted(it.text) << "}\n";
            }
            return images.errors().empty() ? 0 : 1;
        }
        vptx::Options options = {};
        options.language = static_cast<std::uint32_t>(std::atoi(argv[2]));
        if (what == "fixed") {
            const vptx::Fixed fixed(read(argv[3]), options);
            std::cout << fixed.text();
            return 0;
        }
        for (int at = 3; at < argc; at++) {
            const std::string text = read(argv[at]);
            const vptx::Findings findings(text, options);
            for (const vptx_finding &finding : findings.list()) {
                print(argv[at], finding);
            }
        }
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
    return 0;
}
