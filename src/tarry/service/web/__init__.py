"""Web pages for operators and for tenants' users."""
