"""Which shards this process owns, and the lanes that it has loaded for them."""
