"""Measurements and endurance runs; each file is a program of its own."""
