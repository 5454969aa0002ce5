"""A running server and its receivers, for benchmarks that see tarry only through its API."""
