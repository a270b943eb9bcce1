#!/bin/sh
# Versions: Sphinx 9.0.4, sphinx-sitemap 2.9.0, MkDocs 1.6.1.
# sphinx-sitemap 2.9.0 with Sphinx 9.0.4: a page of which the file name has a blank or a letter beyond ASCII is listed with that
# character as it is, although sitemaps.org asks for escaped URLs and a URL has no blank. MkDocs 1.6.1 escapes both.
# Seen: sphinx-sitemap: "green tea.html", "grün.html"; MkDocs: green%20tea/, gr%C3%BCn/.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'sphinx==9.0.4' 'sphinx-sitemap==2.9.0' 'mkdocs==1.6.1'
mkdir -p sphinx mkdocs/docs
cat > sphinx/conf.py <<'PY'
extensions = ["sphinx_sitemap"]
html_baseurl = "https://example.org/"
sitemap_url_scheme = "{link}"
PY
printf 'Home\n====\n\n.. toctree::\n   :glob:\n\n   g*\n' > sphinx/index.rst
printf 'site_name: Tea\nsite_url: https://example.org/\n' > mkdocs/mkdocs.yml
echo '# Home' > mkdocs/docs/index.md
for name in 'green tea' 'grün'; do
    printf 'Tea\n===\n' > "sphinx/$name.rst"
    echo '# Tea' > "mkdocs/docs/$name.md"
done
v/bin/sphinx-build -q sphinx out
(cd mkdocs && ../v/bin/mkdocs build -q)
listed() { grep -o '<loc>[^<]*' "$1" | sed 's,.*example.org/,,' | grep '^gr' | sort | tr '\n' ';'; }
export LC_ALL=C.UTF-8
listed out/sitemap.xml | tee sphinx.txt
echo
listed mkdocs/site/sitemap.xml | tee mkdocs.txt
echo
[ "$(cat sphinx.txt)" = "green tea.html;grün.html;" ]
[ "$(cat mkdocs.txt)" = "gr%C3%BCn/;green%20tea/;" ]
