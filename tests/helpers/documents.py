"""Reading the project's own Markdown pages."""

import re
import textwrap


def shown_make_commands(text: str) -> list[str]:
    """Return the targets of ``make`` in code blocks and inline code, in order."""
    return re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE)


def marked_blocks(text: str) -> list[tuple[str, str]]:
    """Return language and code of the blocks after a line ``<!-- run -->``, in order; those of tabs are indented."""
    found = re.findall(r"^( *)<!-- run -->\n\1```(\w+)\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(language, textwrap.dedent(code)) for _, language, code in found]
