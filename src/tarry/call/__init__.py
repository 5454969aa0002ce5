"""The library: a policy put around a call. Here time passes and dice roll."""
