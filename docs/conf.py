"""Settings of the documentation."""

import inspect
import re
from importlib import metadata
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

from tarry.call.matching import On
from tarry.core.backoff import DEFAULT_CAP, Backoff
from tarry.core.checks import Seconds
from tarry.core.jitter import Jitter
from tarry.observe.stream import Listener
from tarry.sim.run import Floats

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "tarry"
author = "The tarry maintainers"
copyright = author
version = release = metadata.version("tarry")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
default_role = "code"  # `name` in a docstring is code, as it is in Markdown
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"tarry {release}"

ARGUMENTS = re.compile(r"(?P<names>\w+(?:, \w+)*): (?P<text>.*)")
ALIASES = {
    stringify_annotation(spelled_out, "smart"): alias
    for alias, spelled_out in {
        "On": On,
        "Listener": Listener,
        "Seconds": Seconds,
        "Backoff": Backoff,
        "Jitter": Jitter,
        "ArrayLike": ArrayLike,
        "Floats": Floats,
    }.items()
} | {"DEFAULT_CAP": str(DEFAULT_CAP)}
ANY_VALUE = "(*args: object, **named: object)"


def list_the_arguments(  # noqa: PLR0913, PLR0917  Sphinx calls it so
    app: "Sphinx", what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Make a list of the lines `name: what it is`, where the docstring's owner takes such a name.

    What is further in belongs to the line above it.
    """
    del app, name, options
    if what not in {"class", "function", "method"} or not callable(thing):
        return
    known = inspect.signature(thing).parameters
    listed: list[str] = []
    in_list = False
    for line in lines:
        found = ARGUMENTS.match(line)
        if found and all(word in known for word in found["names"].split(", ")):
            listed += [] if in_list else [""]
            listed.append(f"* ``{found['names']}``: {found['text']}")
            in_list = True
        elif in_list and line.startswith(" "):
            listed.append(f"  {line.strip()}")
        else:
            listed += ["", line] if in_list else [line]
            in_list = False
    lines[:] = listed


def use_aliases(  # noqa: PLR0913, PLR0917  Sphinx calls it so
    app: "Sphinx",
    what: str,
    name: str,
    thing: object,
    options: object,
    signature: str | None,
    returned: str | None,
) -> tuple[str, str | None] | None:
    """Write a type by its name where Python has spelled it out, and a value's fields."""
    del app, what, name, options
    if signature is None:
        return None
    if signature == ANY_VALUE:
        return f"({', '.join(getattr(thing, '__fields__', ()))})", returned
    for spelled_out, alias in ALIASES.items():
        signature = signature.replace(spelled_out, alias)
        returned = returned and returned.replace(spelled_out, alias)
    return signature, returned


def setup(app: "Sphinx") -> None:
    """Tell Sphinx how the docstrings are written."""
    app.connect("autodoc-process-docstring", list_the_arguments)
    app.connect("autodoc-process-signature", use_aliases)
