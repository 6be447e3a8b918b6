"""Public codes of text: made from public texts, written as JSON, and the ones that ship."""
