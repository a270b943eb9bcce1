#!/bin/sh
# Versions: astro 5.18.2, @astrojs/sitemap 3.7.4.
# astro 5.18.2, @astrojs/sitemap 3.7.4: with `base: "/docs"` the sitemap lists the home page twice, as /docs and as
# /docs/. With `trailingSlash: "never"` it still lists /docs/; with `base: "/docs/"` it lists one.
# Seen: base /docs: /docs /docs/ /docs/tea/; never: /docs /docs/ /docs/tea; base /docs/: /docs/ /docs/tea/.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export ASTRO_TELEMETRY_DISABLED=1
npm install --silent --no-audit --no-fund astro@5.18.2 @astrojs/sitemap@3.7.4 > /dev/null
mkdir -p src/pages
echo '<p>Home</p>' > src/pages/index.astro
echo '<p>Tea</p>' > src/pages/tea.astro
expect() {
    cat > astro.config.mjs <<JS
import { defineConfig } from "astro/config";
import sitemap from "@astrojs/sitemap";
export default defineConfig({ site: "https://example.org", $1, integrations: [sitemap()] });
JS
    rm -rf dist
    npx astro build > build.log 2>&1 || { cat build.log; exit 1; }
    listed=$(grep -o '<loc>[^<]*' dist/sitemap-0.xml | sed 's/.*example.org//' | tr '\n' ' ')
    echo "$1: $listed"
    test "$listed" = "$2"
}
expect 'base: "/docs"' '/docs /docs/ /docs/tea/ '
expect 'base: "/docs", trailingSlash: "never"' '/docs /docs/ /docs/tea '
expect 'base: "/docs/"' '/docs/ /docs/tea/ '
