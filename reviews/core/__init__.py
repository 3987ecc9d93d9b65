"""The engines: plain Python, no Django, usable alone."""
