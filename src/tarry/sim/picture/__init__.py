"""Draw the curves of a study, the waits of a policy, and whole reports, with matplotlib."""
