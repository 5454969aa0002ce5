"""Accept messages: save each with its deliveries and its key, and wake the lanes.

What happens to a delivery afterwards is in `queue`.
"""
