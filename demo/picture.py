"""The cluster as text: spines above, leaves below each other, and on each link what goes over it. Pure."""

WIDTH = 18


def rate(pps):
    if pps is None:
        return "-"
    return f"{pps:,.0f} pps" if pps < 10_000 else f"{pps / 1000:,.1f} kpps"


def column(text):
    return text.center(WIDTH)


def box(names):
    """Boxes of one width beside each other, their upper edge, their lines and their lower edge."""
    inner = WIDTH - 4
    rows = [" ┌" + "─" * inner + "┐ ", " └" + "─" * (inner // 2) + "┬" + "─" * (inner - inner // 2 - 1) + "┘ "]
    lines = [[f" │{line.center(inner)[:inner]}│ " for line in lines] for lines in names]
    return ["".join([rows[0]] * len(names)), *("".join(row) for row in zip(*lines)), "".join([rows[1]] * len(names))]


def picture(state):
    """state: spines and leaves [{name, is, pps}], links {(leaf, spine): {up, pps} or None}, hosts [{sent, heard,
    lost}] by leaf, each of the last second."""
    spines, leaves = state["spines"], state["leaves"]
    indent = " " * 26
    lines = [indent + row for row in box([(s["name"], s["is"], rate(s["pps"])) for s in spines])]
    for leaf, host in zip(leaves, state["hosts"]):
        lines.append(indent + column("│") * len(spines))
        cells = ""
        for spine in spines:
            link = state["links"].get((leaf["name"], spine["name"]))
            text = "dead" if link is None else rate(link["pps"]) if link["up"] else "no link"
            cells += f" {text} ".center(WIDTH, "─" if link and link["up"] else "·")
        heard = f"hears {host['heard']:,}, lost {host['lost']:,}" if host else ""
        lines.append(f"{leaf['name']:<8}{leaf['is']:<10}{'─' * 8}{cells} {heard}")
    return "\n".join(lines)


def table(rows, titles):
    """Columns as wide as what is in them; numbers to the right."""
    text = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [titles, *text]) for i in range(len(titles))]

    def line(cells, row):
        return "  ".join(cell.ljust(w) if i == 0 or (row and isinstance(row[i], str) and i == len(cells) - 1)
                         else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths))).rstrip()
    return "\n".join([line(titles, None), *(line(cells, row) for cells, row in zip(text, rows))])
