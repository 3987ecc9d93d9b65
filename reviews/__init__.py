"""Symfonic Review: a self-hosted dashboard where people keep LLM agents honest."""

__version__ = "0.1.0"
