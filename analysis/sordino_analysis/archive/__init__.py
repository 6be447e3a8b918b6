"""The reports of a closed round as files: parts, the manifest that names them, and what they add up to."""
