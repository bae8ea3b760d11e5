"""Small pieces of HTML that the page is made of."""

from html import escape


def text(value: str) -> str:
    """`value` as it is read: fit for elements and for quoted attributes."""
    return escape(value)


def code(value: str) -> str:
    """A command or a file name."""
    return f"<code>{text(value)}</code>"


def table(header: tuple[str, ...], rows: list[tuple[str, ...]], caption: str) -> str:
    """A table in a box that scrolls by itself; the first column names the row."""
    head = "".join(f'<th scope="col">{text(cell)}</th>' for cell in header)
    lines = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>{"".join(f"<td>{text(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="box" role="region" aria-label="{text(caption)}" tabindex="0"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>\n"
    )
