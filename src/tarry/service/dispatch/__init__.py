"""The dispatcher: shards are leased, lanes send what waits in them, answers are settled."""
