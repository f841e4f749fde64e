"""Other names for the parameters and the variables of functions in a CUDA source.

A simple rule for tidy sources, not a parser of C++. A name that also stands for something
else in the file, a field or a type, say, is kept everywhere. Compile the result and compare
the machine code to be sure.
"""

import re

TOKEN = re.compile(r"""
    (?P<keep>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'
      |\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark>::|->|&&|\|\||<<|>>|.)""", re.VERBOSE | re.DOTALL | re.MULTILINE)

# After these words stands a value, not a name that they declare.
NO_TYPES = {"return", "case", "else", "delete", "new", "throw", "goto", "operator", "sizeof", "do"}
KEPT = {"true", "false", "nullptr", "this", "default", "const", "constexpr", "volatile",
        "unsigned", "signed", "int", "char", "short", "long", "float", "double", "bool", "void",
        "auto", "operator", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}


def scopes(tokens):
    """Returns for each token whether it is in the parameters or the body of a function."""
    inside, stack = [], ["file"]
    for at, (kind, text) in enumerate(tokens):
        before = tokens[at - 1][1] if at else ""
        if text == "{":
            if stack[-1] in ("function", "parameters"):
                stack.append("function")
            else:
                start = at
                while start and tokens[start - 1][1] not in (";", "}", "{"):
                    start -= 1
                head = [word for _, word in tokens[start:at]]
                is_type = {"struct", "class", "union", "enum", "namespace", "extern"} & set(head)
                body = before in (")", "const", "override", "noexcept")
                stack.append("function" if body else "type" if is_type and ")" not in head else
                             "values")
        elif text == "(":
            # asm and attributes at the level of a file are not taken for parameters.
            stack.append(stack[-1] if stack[-1] == "function" else "parameters")
        inside.append(stack[-1] in ("function", "parameters"))
        if text in (")", "}") and len(stack) > 1:
            stack.pop()
    return inside


def local_names(tokens):
    inside = scopes(tokens)
    words = [text for _, text in tokens]
    found, others = {}, set(KEPT)
    in_template = 0
    for at, (kind, text) in enumerate(tokens):
        before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        if text == "template" and after == "<":
            in_template = 1
            depth = 0
        elif in_template and text in ("<", ">", ">>"):
            depth += {"<": 1, ">": -1, ">>": -2}[text]
            in_template = depth > 0
        if kind != "name":
            continue
        member = before in (".", "->", "::") or after == "::"
        if in_template or not inside[at]:
            others.add(text)
        elif member:
            continue
        elif after in ("=", ";", ",", ")", "[", "{", ":", "("):
            # `type name`, `type *name`, and `, name` if such a declaration continues.
            previous = tokens[at - 1]
            if previous[0] == "name" and before not in NO_TYPES or before in ("*", "&", ">"):
                if after != "(":
                    found.setdefault(text, None)
            elif before == "," and after in ("=", ";", "["):
                found.setdefault(text, None)
        if inside[at] and after == "(" and before not in (".", "->"):
            # A function or a type.
            others.add(text)
    return [name for name in found if name not in others]


def renamed(text):
    """The source with other names."""
    pieces = [(match.lastgroup, match.group()) for match in TOKEN.finditer(text)]
    tokens = [piece for piece in pieces if piece[0] != "keep"]
    directives = {word for kind, piece in pieces
                  if kind == "keep" and piece.lstrip().startswith("#")
                  for word in re.findall(r"[A-Za-z_]\w*", piece)}
    names = {name: f"other_{number}" for number, name in enumerate(local_names(tokens))
             if name not in directives}
    out, before = [], ""
    for kind, piece in pieces:
        if kind == "name" and piece in names and before not in (".", "->", "::"):
            out.append(names[piece])
        else:
            out.append(piece)
        if kind != "keep":
            before = piece
    return "".join(out)
