"""Accept messages, from `add` and from the outbox table: save each with its deliveries and its key.

What happens to a delivery afterwards is in `queue`. `put`, by which callers write to the outbox
table in their own transactions, is in `tarry.service.outbox`.
"""
