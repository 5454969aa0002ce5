"""The schema: its version, the numbered migrations, and how they are applied."""
