"""What the dispatcher uses: leases, wake-ups, deliveries to send, their outcomes, and tasks.

Accepting messages is in `ingest`. What people read about deliveries is in `reading`.
"""
