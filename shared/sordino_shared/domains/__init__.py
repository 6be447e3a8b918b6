"""Domains: products of attributes; what a device may hold, and how it becomes an index.

An attribute lists its members (`Categorical`, `Ordinal`) or has so many that it describes them: `Integers`, `Ordinal`
with `EvenEdges`, `Number`, and for text `Hashed`, or `Text` with each `TextPrefix` of its code.
A value has one index an attribute, its codes. The size k of a domain is the
product of its attributes' sizes. Up to 2^62 cells are numbered too, in C order: the last attribute varies fastest.

Silence must not speak. A device that holds a value answers whatever the value is. In production a number written as
text is read, what is no number is `missing` where an ordered attribute has that member, and a value that is not listed
becomes `other` where there is one, else the attribute's first member; an integer out of range becomes the nearest one.
Where `strict` (the app's tests) each of these raises `OutsideDomain`, whatever members there are: it is a mistake of
the app, or of the domain.
How a value is passed is the app's doing and no secret: `check_shape` refuses shapes and names other than the domain's.
"""

from sordino_shared.domains.categorical import Categorical
from sordino_shared.domains.domain import MAX_ATTRIBUTES, MAX_CELLS, Attribute, Domain, Ordered
from sordino_shared.domains.edges import MAX_EVEN_EDGES, EvenEdges
from sordino_shared.domains.hashed import MAX_HASH_BITS, SALT_BYTES, Hashed
from sordino_shared.domains.indicator import Indicator, Span
from sordino_shared.domains.integers import MAX_INTEGERS, Integers
from sordino_shared.domains.members import MAX_MEMBERS, MISSING, OTHER
from sordino_shared.domains.number import STEPS, Number
from sordino_shared.domains.ordinal import Ordinal
from sordino_shared.domains.strings import Text, TextPrefix
from sordino_shared.domains.text_code import TextCode

__all__ = [
    "MAX_ATTRIBUTES",
    "MAX_CELLS",
    "MAX_EVEN_EDGES",
    "MAX_HASH_BITS",
    "MAX_INTEGERS",
    "MAX_MEMBERS",
    "MISSING",
    "OTHER",
    "SALT_BYTES",
    "STEPS",
    "Attribute",
    "Categorical",
    "Domain",
    "EvenEdges",
    "Hashed",
    "Indicator",
    "Integers",
    "Number",
    "Ordered",
    "Ordinal",
    "Span",
    "Text",
    "TextCode",
    "TextPrefix",
]
