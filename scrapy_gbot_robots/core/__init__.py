"""What a robots.txt says: the pure core. No clock, no I/O, no logging; stdlib and idna only."""
