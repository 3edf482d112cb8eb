#!/bin/sh
# Tests the extension in a real VS Code, in a browser: installs code-server (once, some minutes), packages the extension, installs it,
# and drives a copied workspace.
#
#   e2e/run.sh                        with a stand-in for `cargo raddle`: neither Rust nor a debugger is needed
#   e2e/run.sh PATH/TO/cargo-raddle   with the real command, which builds and debugs the tests of the workspace
#
# Needs node 20 with its headers, a C++ compiler, ripgrep and Chromium (CHROMIUM names another one). Screenshots and logs are left in
# target/vscode-e2e/out.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
tools=$root/target/vscode-e2e
command=${1:-}
[ -z "$command" ] || command=$(cd "$(dirname "$command")" && pwd)/$(basename "$command")

"$here/install.sh" "$tools"
cd "$here/.."
rm -f "$tools/raddle.vsix"
"$tools/vsce/node_modules/.bin/vsce" package --no-dependencies --out "$tools/raddle.vsix"
exec node "$here/drive.js" "$tools" "$root" "$command"
