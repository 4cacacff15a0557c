"""Reading the project's own Markdown pages."""

import re


def shown_make_commands(text: str) -> list[str]:
    """Return the targets of ``make`` in code blocks and inline code, in order."""
    return re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE)


def marked_blocks(text: str) -> list[tuple[str, str]]:
    """Return language and code of the blocks after a line ``<!-- run -->``, in order."""
    return re.findall(r"^<!-- run -->\n```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
