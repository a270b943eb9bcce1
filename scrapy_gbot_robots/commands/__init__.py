"""The sub-commands of `gbot-robots` and `scrapy robots`, with one module for each of them.

The other modules contain the code that the sub-commands share. This package may import any other
package of the plugin, and no other package imports it.
Source: our own. Only the exit statuses 0, 1 and 2 come from google/robotstxt.
"""
