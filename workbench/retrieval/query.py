"""Which query texts are accepted, and their one normal form. No character of a query is ever syntax."""

from __future__ import annotations

from workbench.core.errors import InputError
from workbench.core.text import clean_text, is_valid_unicode


def normal_query(text: str, most_chars: int) -> str:
    """The query in NFC without surrounding white space.

    Raises: `InputError("invalid_query")` when nothing is left, more than `most_chars` are, or it is not text.
    """
    if "\x00" in text:
        raise _refused("The query holds a NUL character; send text only.")
    if not is_valid_unicode(text):
        raise _refused("The query holds half a character (a lone surrogate); send valid Unicode.")
    query = clean_text(text).strip()
    if not query:
        raise _refused("The query is empty; say what to look for.")
    if len(query) > most_chars:
        raise _refused(f"The query has {len(query)} characters; send at most {most_chars}.")
    return query


def _refused(message: str) -> InputError:
    return InputError("invalid_query", message, stage="query")
