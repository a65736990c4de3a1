"""A Markdown memory of any size, made of real paragraphs by a fixed seed, and queries about it.

Every file has a title and several sections, each long enough to be one unit. Same folder, size and seed: same bytes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEED = 20_240_501
SECTIONS = 10
SECTION_WORDS = (90, 160)
QUERIES_PER_KIND = 20

KINDS = ("content words", "question", "CJK")

CJK = re.compile(r"[\u4e00-\u9fff]+")
WORD = re.compile(r"[A-Za-z][a-z]{4,}")
COMMON = """
about after again also because before being between could does doing during every first from have into just like make
many might more most much need only other over same should since some such than that their them then there these they
this those through under until using very want were what when where which while will with would your
"""


@dataclass(frozen=True, slots=True)
class Material:
    """What real folders offer: paragraphs of prose and code, and headings, in a stable order."""

    paragraphs: tuple[str, ...]
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a kind from `KINDS`."""

    kind: str
    text: str


def read_material(folder: Path) -> Material:
    """The distinct paragraphs and headings of every Markdown file below a folder.

    Raises: SystemExit when the folder holds too little Markdown to recombine.
    """
    paragraphs: dict[str, None] = {}
    headings: dict[str, None] = {}
    for source in sorted(folder.rglob("*.md")):
        for block in _blocks(source.read_text(encoding="utf-8", errors="replace")):
            if block.startswith("#"):
                headings[block.lstrip("# ").splitlines()[0].strip()] = None
            elif len(block) >= 40:
                paragraphs[block] = None
    if len(paragraphs) < 100:
        raise SystemExit(f"{folder} holds {len(paragraphs)} paragraphs of Markdown; at least 100 are needed.")
    return Material(tuple(paragraphs), tuple(heading for heading in headings if len(heading) > 3))


def write_corpus(material: Material, folder: Path, units: int) -> int:
    """Write about `units` sections as Markdown files and return the bytes of text written."""
    chance = random.Random(SEED)
    written = 0
    for number in range(units // SECTIONS):
        sections = [_section(material, chance) for _ in range(SECTIONS)]
        title = chance.choice(material.headings)
        text = "\n\n".join([f"# {title}", *sections]) + "\n"
        source = folder / f"{number // 100:03d}" / f"{number:05d}.md"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text, encoding="utf-8")
        written += len(text.encode())
    return written


def make_queries(material: Material) -> list[Query]:
    """As many queries of each kind as `QUERIES_PER_KIND`, the kinds taking turns; no CJK ones without CJK text."""
    chance = random.Random(SEED + 1)
    words, questions, runs = (list(part(material, chance)) for part in (_content_words, _questions, _cjk_runs))
    turns = [query for turn in zip(words, questions, strict=True) for query in turn]
    return turns + runs


def _content_words(material: Material, chance: random.Random) -> Iterator[Query]:
    found, common = 0, frozenset(COMMON.split())
    while found < QUERIES_PER_KIND:
        known = dict.fromkeys(word.lower() for word in WORD.findall(chance.choice(material.paragraphs)))
        content = [word for word in known if word not in common]
        if len(content) >= 4:
            found += 1
            yield Query("content words", " ".join(chance.sample(content, 4)))


def _questions(material: Material, chance: random.Random) -> Iterator[Query]:
    english = [heading for heading in material.headings if heading.isascii() and 3 <= len(heading.split()) <= 9]
    for heading in chance.choices(english, k=QUERIES_PER_KIND):
        yield Query("question", f"How do I {heading[0].lower()}{heading[1:]} and what is it good for?")


def _cjk_runs(material: Material, chance: random.Random) -> Iterator[Query]:
    runs = [run for paragraph in material.paragraphs for run in CJK.findall(paragraph) if 4 <= len(run) <= 8]
    for run in chance.choices(runs, k=QUERIES_PER_KIND) if runs else []:
        yield Query("CJK", run)


def _section(material: Material, chance: random.Random) -> str:
    """A heading and as many paragraphs as make one unit."""
    wanted = chance.randint(*SECTION_WORDS)
    parts, words = [f"## {chance.choice(material.headings)}"], 0
    while words < wanted:
        paragraph = chance.choice(material.paragraphs)
        parts.append(paragraph)
        words += len(paragraph.split()) + len("".join(CJK.findall(paragraph)))
    return "\n\n".join(parts)


def _blocks(text: str) -> Iterator[str]:
    """Blank-line blocks; a fence is closed where a block would leave it open, so that recombined files stay valid."""
    for block in re.split(r"\n\s*\n", text):
        stripped = block.strip()
        if stripped.count("```") % 2 == 0 and not stripped.startswith(("---", "~~~")):
            yield stripped
