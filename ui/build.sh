#!/bin/sh
# Builds the web interface into the package, if its sources changed since the last time.
# Without a fit node it says how to get one and leaves things as they are: the server works without.
set -eu
cd "$(dirname "$0")"
built=../src/remanence/edge/static
# Whoever asks meanwhile (another test process, say) waits, and then finds it done.
if command -v flock >/dev/null 2>&1 && [ -z "${REMANENCE_UI_LOCKED:-}" ]; then
  REMANENCE_UI_LOCKED=1 exec flock ./package.json sh ./build.sh "$@"
fi
key=$(find . -path ./node_modules -prune -o -type f ! -name '*.test.ts' -print | LC_ALL=C sort | xargs cksum | cksum)
if [ "$(cat $built/.stamp 2>/dev/null || true)" = "$key" ]; then exit 0; fi
if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null \
  || ! command -v npm >/dev/null 2>&1; then
  echo "Note: the web interface is not built. Install Node.js 20.19 or later with npm, then run \`make ui\`."
  exit 0
fi
lock=$(cksum < package-lock.json)
if [ "$(cat node_modules/.stamp 2>/dev/null || true)" != "$lock" ]; then
  echo "Fetching what the web interface is built with"
  npm ci --no-audit --no-fund --loglevel=error
  echo "$lock" > node_modules/.stamp
fi
echo "Building the web interface"
node scripts/build.mjs
echo "$key" > $built/.stamp
