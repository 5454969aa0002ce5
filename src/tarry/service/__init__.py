"""The webhook service: messages are stored durably, delivered signed, and retried by policy."""
