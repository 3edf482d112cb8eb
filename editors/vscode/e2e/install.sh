#!/bin/sh
# Installs what the end-to-end test needs into the folder given as its argument: code-server (VS Code in a browser), which has to be put
# together by hand because its own install script downloads from outside the registry, vsce, which packages, and playwright-core, which
# drives the browser.
# A part that is there already is not installed again.
set -eu

tools=$1
code_server=4.100.3 # the last version for node 20
playwright=1.65.0
vsce=3.6.0

mkdir -p "$tools"
cd "$tools"

if [ ! -e "vsce-$vsce-playwright-$playwright.done" ]; then
  npm install --prefix vsce --no-save --ignore-scripts --no-audit --no-fund "@vscode/vsce@$vsce"
  npm install --prefix playwright --no-save --ignore-scripts --no-audit --no-fund "playwright-core@$playwright"
  touch "vsce-$vsce-playwright-$playwright.done"
fi

if [ ! -e "code-server-$code_server.done" ]; then
  for tool in rg make g++ python3; do
    command -v $tool >/dev/null || { echo "install.sh: \`$tool\` is missing; on Debian: apt-get install ripgrep build-essential python3" >&2; exit 1; }
  done
  # Native modules are built against the headers beside the node that runs them.
  headers=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  [ -e "$headers/include/node/node.h" ] || { echo "install.sh: node's headers are missing in $headers/include; on Debian: apt-get install libnode-dev" >&2; exit 1; }
  export npm_config_nodedir="$headers" npm_config_yes=true npm_config_audit=false npm_config_fund=false

  rm -rf code-server package
  npm pack --silent "code-server@$code_server"
  tar xzf "code-server-$code_server.tgz"
  mv package code-server
  for part in . lib/vscode lib/vscode/extensions; do
    (cd "code-server/$part" && npm install --omit=dev --ignore-scripts)
  done
  (cd code-server && npm rebuild argon2)
  (cd code-server/lib/vscode && npm rebuild node-pty native-watchdog @vscode/spdlog)
  mkdir -p code-server/lib/vscode/node_modules/@vscode/ripgrep/bin
  ln -sf "$(command -v rg)" code-server/lib/vscode/node_modules/@vscode/ripgrep/bin/rg
  (cd code-server/lib/vscode && ln -sfn node_modules node_modules.asar)
  touch "code-server-$code_server.done"
fi
