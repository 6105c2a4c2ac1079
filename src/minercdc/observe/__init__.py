"""What a connector shows of itself: metrics, status and its page, the HTTP port, notifications."""
