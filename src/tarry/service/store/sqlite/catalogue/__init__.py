"""What people set up: environments, applications, endpoints, policies, event types and keys.

Messages and deliveries are not here: see `ingest`, `queue` and `reading`.
"""
