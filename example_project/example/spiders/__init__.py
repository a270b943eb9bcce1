"""The project's spiders: `demo` needs no network, `discover` takes hosts."""
