"""What `library.py` is made of: contestants, a stopwatch, a scale and a report."""
