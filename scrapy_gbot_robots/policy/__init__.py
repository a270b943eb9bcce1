"""What fetching a robots.txt meant, over time: status codes, outages, age. Pure; `now` is always passed in."""
