"""An ordinary Scrapy project that has scrapy-gbot-robots switched on: a place to start from."""
