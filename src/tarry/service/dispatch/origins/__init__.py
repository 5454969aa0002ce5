"""The gates that lanes of one origin share while they fail together."""
