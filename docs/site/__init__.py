"""The documentation as a site: `python -m docs.site build`. Needs the packages of requirements/docs.txt."""
