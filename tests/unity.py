"""Names in anonymous namespaces of files that meson compiles together (unity): once in each target.

A part of house.py. The compiler sees two of a name only where both files fall into one unit of six,
and which do changes with every file that is added. Functions may share a name if they take something
else.
"""

import os
import re

CALL = re.compile(r"\b(?:static_library|shared_library|shared_module|executable)\(")
# Strings first: what looks like a comment in one is none.
NOT_CODE = re.compile(
    r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.S)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NO_NAME = re.compile(r"(using|static_assert|namespace|extern|typedef|friend|TEST\w*|TYPED_TEST\w*|"
                     r"INSTANTIATE\w*)\b")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)*(\w+)\s*"
                  r"(?:final\b\s*)?(?:$|:)")


def closing(text, at):
    """Where what opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return len(text)


def targets(folder, text):
    """(sources) of each library and program of a meson.build that are compiled together."""
    text = re.sub(r"#.*", "", text)
    spans = [(m.start(), closing(text, m.end() - 1)) for m in CALL.finditer(text)]
    groups = [text[a:b] for a, b in spans]
    # Test programs are made in a loop over lists: what is in files() there is one's.
    groups += [text[m.start():closing(text, m.end() - 1)] for m in re.finditer(r"(?<!= )\bfiles\(", text)
               if not any(a <= m.start() < b for a, b in spans)]
    for group in groups:
        names = [os.path.normpath(os.path.join(folder, name))
                 for name in re.findall(r"'([^'\n]+\.cpp)'", group)]
        if len(names) > 1 and not re.search(r"\bapart\b", group):
            yield names


def parameters(text):
    """Types of parameters: defaults and names left out."""
    types, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth <= 0:
            one = re.sub(r"\s*=.*", "", text[start:i], flags=re.S)
            one = re.sub(r"(?<=[\w>&*\s])\b\w+\s*$", "", one) if re.search(r"[\s&*]\w+\s*$", one) else one
            types.append(re.sub(r"\s+", "", one))
            start = i + 1
    return ",".join(types)


def declared(head):
    """Names that a declaration makes, functions with what they take."""
    head = re.sub(r"^(?:template\s*<(?:[^<>]|<[^<>]*>)*>\s*(?:requires[^{]*?\)\s*)?)+", "", head.strip())
    if not head or NO_NAME.match(head):
        return []
    if match := TYPE.match(head):
        return [match[1]]
    before = re.split(r"(?<![=<>!])=(?!=)", head)[0]
    if match := re.search(r"(\boperator\s*\S+?|\b\w+)\s*\((.*)$", before, re.S):
        inside = before[match.end(1):].lstrip()
        return [f"{match[1]}({parameters(inside[1:closing(inside, 0)])})"]
    if "::" in before.split()[-1]:
        return []
    names, depth, start = [], 0, 0
    for i, c in enumerate(head + ","):
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            if match := re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$",
                                  re.split(r"(?<![=<>!])=(?!=)", head[start:i])[0].rstrip()):
                names.append(match[1])
            start = i + 1
    return names


def anonymous(text):
    """What the anonymous namespaces of a source file declare."""
    text = NOT_CODE.sub(lambda m: '""' if m[0][0] in "R\"'" else " ", text)
    text = PREPROCESSOR.sub("", text)
    names = set()
    for opened in re.finditer(r"\bnamespace\s*\{", text):
        at, end = opened.end(), closing(text, opened.end() - 1)
        start = at
        while at < end:
            c = text[at]
            if c in "([":
                at = closing(text, at)
            elif c == "{":
                head, at = text[start:at], closing(text, at)
                names.update(declared(head))
                # After a body comes a declaration; after an initializer or a type the rest of one.
                rest = text[at + 1:end].lstrip()[:1]
                if rest == ";" or (rest == "," and "(" not in head):
                    at = text.index(";", at)
                start = at + 1
            elif c == ";":
                names.update(declared(text[start:at]))
                start = at + 1
            at += 1
    return names


def check_names(tree, faults):
    for build in (f for f in tree.files if os.path.basename(f) == "meson.build"):
        for sources in targets(os.path.dirname(build), tree.text(build)):
            first = {}
            for source in (s for s in sources if s in tree.known):
                for name in sorted(anonymous(tree.text(source))):
                    if name in first:
                        faults.append(f"{source}: {name} is in the anonymous namespace of "
                                      f"{first[name]}, too, and both are compiled together: name "
                                      "one anew, or move it to a header of both")
                    first.setdefault(name, source)
