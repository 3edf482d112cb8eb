// The workspace that is tested with, and the VS Code server that opens it.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");

/** Copies the sample workspace. Its manifests have another name here, so that cargo does not take them for part of the repository. */
function makeWorkspace(to, root) {
  fs.cpSync(path.join(__dirname, "workspace"), to, { recursive: true });
  for (const folder of [".", "counter", "queue"]) {
    const manifest = path.join(to, folder, "manifest.toml");
    const text = fs.readFileSync(manifest, "utf8").replace("RADDLE", path.join(root, "crates", "raddle"));
    fs.writeFileSync(path.join(to, folder, "Cargo.toml"), text);
    fs.rmSync(manifest);
  }
  fs.copyFileSync(path.join(root, "Cargo.lock"), path.join(to, "Cargo.lock"));
}

/** Installs the extension into a fresh profile and starts the server. */
async function startServer({ tools, out, command }) {
  const data = path.join(out, "data");
  const settings = {
    "raddle.command": command,
    // A key that is meant for the debugger must not change the workspace.
    "files.autoSave": "off",
    "security.workspace.trust.enabled": false,
    "terminal.integrated.gpuAcceleration": "off",
    "workbench.startupEditor": "none",
    "testing.automaticallyOpenTestResults": "neverOpen",
    "window.commandCenter": false,
    "git.enabled": false,
    "telemetry.telemetryLevel": "off",
  };
  fs.mkdirSync(path.join(data, "User"), { recursive: true });
  fs.writeFileSync(path.join(data, "User", "settings.json"), JSON.stringify(settings));
  const entry = path.join(tools, "code-server", "out", "node", "entry.js");
  const profile = ["--config", path.join(out, "config.yaml"), "--user-data-dir", data, "--extensions-dir", path.join(out, "extensions")];
  execFileSync("node", [entry, ...profile, "--install-extension", path.join(tools, "raddle.vsix")], { stdio: "inherit" });

  const port = await freePort();
  const log = fs.openSync(path.join(out, "server.log"), "w");
  const child = spawn("node", [entry, ...profile, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"], {
    stdio: ["ignore", log, log],
    detached: true,
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = () => { try { process.kill(-child.pid, "SIGTERM"); } catch { /* it is gone */ } };
  for (let tries = 0; ; tries++) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return { url, stop };
    if (tries === 240) {
      stop();
      throw new Error(`code-server does not answer; see ${out}/server.log`);
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

module.exports = { makeWorkspace, startServer };
