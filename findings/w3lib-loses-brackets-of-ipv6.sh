#!/bin/sh
# Versions: w3lib 2.4.0 and 2.5.0.
# w3lib 2.4.0, which Scrapy 2.14 to 2.19 accept: safe_url_string drops the brackets of an IPv6 address, so Request changes
# "http://[::1]/robots.txt" into a URL that has no valid host. w3lib 2.5.0 keeps them.
# Seen: 2.4.0: http://::1/robots.txt; 2.5.0: http://[::1]/robots.txt.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
for version in 2.4.0 2.5.0; do
    v/bin/pip install -q --disable-pip-version-check "w3lib==$version"
    v/bin/python -c 'from w3lib.url import safe_url_string as safe; print(safe("http://[::1]/robots.txt"))' | tee "$version"
done
[ "$(cat 2.4.0)" = "http://::1/robots.txt" ]
[ "$(cat 2.5.0)" = "http://[::1]/robots.txt" ]
