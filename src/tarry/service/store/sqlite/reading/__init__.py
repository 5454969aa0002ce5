"""What people read about messages, deliveries and attempts, and what they change in them by hand.

The dispatcher reads deliveries by `queue`, not by these queries.
"""
