#!/usr/bin/python3
"""Writes the files of the page as one source file: embed.py OUTPUT FILE..."""

import hashlib
import sys
from pathlib import Path

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def literal(data):
    """A C string literal, a line of it for each line of the file."""
    lines = []
    for line in data.splitlines(keepends=True):
        text = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
                       for b in line)
        lines.append(f'    "{text}"')
    return "\n".join(lines)


def main(output, *files):
    rows = []
    for name in files:
        path = Path(name)
        data = path.read_bytes()
        where = "/" if path.name == "index.html" else f"/{path.name}"
        rows.append(f'  {{"{where}", "{TYPES[path.suffix]}", '
                    f'"{hashlib.sha256(data).hexdigest()[:16]}",\n{literal(data)}}},')
    Path(output).write_text("\n".join([
        "// Made by router/api/web/embed.py.",
        '#include "router/api/web/web_files.hpp"', "",
        "namespace hecto::router {", "namespace {", "",
        "constexpr WebFile kFiles[] = {", *rows, "};", "", "}  // namespace", "",
        "const WebFile* web_file(std::string_view path) noexcept {",
        "  for (const WebFile& file : kFiles)",
        "    if (file.path == path) return &file;",
        "  return nullptr;", "}", "", "}  // namespace hecto::router", ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
