"""What an administrator watches: the dashboard and the alerts, as tables, and what writes them."""
