"""Campaigns: the manifest that devices pin, and the life of what it promises."""
