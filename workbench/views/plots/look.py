"""How every picture looks: colours that colour-blind people tell apart, on paper of its own, with its words beside it.

A picture cannot know whether the page around it is light or dark, so it brings its own ground: every colour stands out
from that by 3 to 1 or more, and text by far more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from workbench.core.text import one_line
from workbench.storage.files import atomic_write

if TYPE_CHECKING:
    from IPython.display import Image
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, INK, GREY = "#FFFFFF", "#24292F", "#767676"
BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
PALETTE = (BLUE, VERMILION, GREEN, PINK)
"""Of Okabe and Ito's colours those that are dark enough for white paper (doi.org/10.1038/nmeth.1618)."""
HATCHES = ("", "////", "....", "----")
"""Areas differ by these too, for who sees or prints no colours."""
CJK_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "SimHei")
WIDTH_IN = 9.0
DPI = 110


@contextmanager
def house_style() -> Iterator[None]:
    """Colours, open axes and fonts; text falls back to the first font of Chinese that this machine has."""
    from matplotlib import rc_context
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    fonts = ["DejaVu Sans", *[name for name in CJK_FONTS if name in installed][:1]]
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    look = {
        "font.family": fonts,
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.axisbelow": True,
        "grid.color": "#D8DADD",
        "hatch.color": PAPER,
        "legend.frameon": False,
        "text.parse_math": False,  # a query may hold dollar signs
        **dict.fromkeys(inks, INK),
    }
    with rc_context(look):
        yield


def canvas(height_in: float) -> tuple[Figure, Axes]:
    """A figure of the notebook's width with one pair of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    return figure, figure.subplots()


def shortened(text: str, columns: int) -> str:
    """The text on one line, cut to the width of so many letters; a Chinese character is as wide as two."""
    line = " ".join(text.split())
    widths = accumulate(2 if east_asian_width(one) in "WF" else 1 for one in line)
    fitting = sum(width <= columns for width in widths)
    return line if fitting == len(line) else one_line(line, fitting)


def left_blank(axes: Axes, words: str) -> None:
    """Say why there is nothing to see, instead of axes around nothing."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY)


def described(figure: Figure, words: str) -> Figure:
    """The figure with what it shows in words, which `picture` gives to people who do not see it."""
    figure.set_label(words)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as PNG."""
    data = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # drawn as a box; the words have it
        figure.savefig(data, format="png", dpi=DPI)
    return data.getvalue()


def picture(figure: Figure) -> Image:
    """The figure as a picture that a notebook shows and keeps, whatever its matplotlib backend is."""
    from IPython.display import Image

    return Image(data=png(figure), format="png", alt=str(figure.get_label()))  # type: ignore[no-untyped-call]


def saved(figure: Figure, file: Path) -> Image:
    """The figure as `picture`, which is also kept in `file` as PNG."""
    image = picture(figure)
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, image.data, durable=False)
    return image
