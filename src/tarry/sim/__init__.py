"""The storm simulator: what a policy does to a service, before it ships."""
