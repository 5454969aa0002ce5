"""Curves of a study, the waits of a policy and whole reports, drawn with matplotlib."""
