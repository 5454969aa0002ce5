"""Bugs that are planted into the service, one at a time: the simulation has to find each."""
