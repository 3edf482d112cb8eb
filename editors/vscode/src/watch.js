// Watching a folder that may not exist yet.
//
// The editor's own watchers look for missing folders only every few seconds, and obey settings that often exclude `target`. Here the
// nearest folder that exists is watched until the one below it appears.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

class FolderWatch {
  /**
   * @param {string} folder
   * @param {() => void} onChange Called after files of the folder, or the folder itself, came, changed or went.
   */
  constructor(folder, onChange) {
    this.folder = folder;
    this.onChange = onChange;
    /** @type {fs.FSWatcher | undefined} */
    this.watcher = undefined;
    /** The folder that is watched, and which one of that name. */
    this.target = { folder: "", id: "" };
    this.isDisposed = false;
    this.attach();
  }

  dispose() {
    this.isDisposed = true;
    this.watcher?.close();
  }

  /** Watches the nearest folder, and once more if a nearer one came meanwhile. */
  attach() {
    for (let nearest = this.nearest(); !this.isSame(nearest); nearest = this.nearest()) {
      this.watcher?.close();
      this.target = nearest;
      try {
        this.watcher = fs.watch(nearest.folder, { persistent: false }, () => this.noticed());
        this.watcher.on("error", () => this.noticed());
      } catch {
        // The folder went away, or the system has no more watchers: the list can still be refreshed by hand.
      }
    }
  }

  noticed() {
    if (this.isDisposed) return;
    const wasThere = this.target.folder === this.folder;
    this.attach();
    if (wasThere || this.target.folder === this.folder) this.onChange();
  }

  /** The folder itself, or the nearest one above it that exists. */
  nearest() {
    for (let folder = this.folder; ; folder = path.dirname(folder)) {
      const found = fs.statSync(folder, { throwIfNoEntry: false });
      if (found?.isDirectory()) return { folder, id: `${found.ino} ${found.birthtimeMs}` };
      if (folder === path.dirname(folder)) return { folder, id: "" };
    }
  }

  /** A folder that was deleted and made again is another one, though its number may be the same. @param {{ folder: string, id: string }} nearest */
  isSame(nearest) {
    return nearest.folder === this.target.folder && nearest.id === this.target.id;
  }
}

module.exports = { FolderWatch };
