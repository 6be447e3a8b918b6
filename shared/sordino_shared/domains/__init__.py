"""Domains: products of categorical and ordinal attributes; what a device may hold, and how it becomes an index.

The size k of a domain is the product of its attributes' sizes and may be far too large for a dense table.
Cells are numbered in C order: the last attribute varies fastest.

Silence must not speak. A device that holds a value answers whatever the value is. In production a number written as
text is read, what is no number is `missing` where an ordinal attribute has that member, and a value that is not listed
becomes `other` where there is one, else the attribute's first member. Where `strict` (the app's tests) each of these
raises `OutsideDomain`, whatever members there are: it is a mistake of the app, or of the domain.
How a value is passed is the app's doing and no secret: `check_shape` refuses shapes and names other than the domain's.
"""

from sordino_shared.domains.categorical import Categorical
from sordino_shared.domains.domain import MAX_CELLS, MAX_MEMBERS, Attribute, Domain
from sordino_shared.domains.members import MISSING, OTHER
from sordino_shared.domains.ordinal import Ordinal

__all__ = ["MAX_CELLS", "MAX_MEMBERS", "MISSING", "OTHER", "Attribute", "Categorical", "Domain", "Ordinal"]
