"""Evaluation that is bought with budget."""
