"""Concept classes: rules of one form that predict a label, and the loss of each as a linear query."""
