"""Answers to questions that are asked of a closed campaign, one by one."""
