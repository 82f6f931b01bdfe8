"""Rigs for engines: what each takes, files made for it, and what is in them when they are read again."""
