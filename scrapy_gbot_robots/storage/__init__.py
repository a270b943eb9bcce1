"""Where robots.txt entries live between runs and between processes."""
