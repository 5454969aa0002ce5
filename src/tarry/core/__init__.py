"""The pure part: no clock, no chance, no I/O, no threads, no logging."""
