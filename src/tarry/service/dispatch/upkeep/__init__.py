"""Work beside deliveries: expiry, retention, tasks, statistics, notices and the watchdog."""
