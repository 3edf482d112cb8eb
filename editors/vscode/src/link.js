// The link between a page and a debugger: each goes where the other one went.
//
// A jump of the debugger takes a while, and a slider asks for many. One jump is under way at a time, and only the newest request
// waits for its end, which is the debugger's word about where it stands. What one side was told to do is not told back.
"use strict";

class Link {
  /**
   * @param {object} sides
   * @param {(event: number) => void} sides.tellPage
   * @param {(event: number) => Promise<unknown>} sides.askDebugger Starts a jump, or fails.
   * @param {(error: unknown) => void} sides.onError
   */
  constructor({ tellPage, askDebugger, onError }) {
    this.tellPage = tellPage;
    this.askDebugger = askDebugger;
    this.onError = onError;
    /** The event that the page shows, as far as is known. @type {number | undefined} */
    this.shown = undefined;
    /** Whether a jump is under way. */
    this.isJumping = false;
    /** The event to go to afterwards. @type {number | undefined} */
    this.next = undefined;
  }

  /** The page went to an event. @param {number} event */
  pageWentTo(event) {
    if (event === this.shown) return;
    this.shown = event;
    if (this.isJumping) this.next = event;
    else void this.jump(event);
  }

  /** The debugger stands somewhere: at an event, or before the first one of its thread. @param {number | undefined} event */
  debuggerStandsAt(event) {
    this.isJumping = false;
    if (this.next !== undefined) return this.jumpToNext();
    if (event === undefined || event === this.shown) return;
    this.shown = event;
    this.tellPage(event);
  }

  /** @param {number} event */
  async jump(event) {
    this.isJumping = true;
    try {
      await this.askDebugger(event);
    } catch (error) {
      this.isJumping = false;
      this.onError(error);
      if (this.next !== undefined) this.jumpToNext();
    }
  }

  jumpToNext() {
    const event = /** @type {number} */ (this.next);
    this.next = undefined;
    void this.jump(event);
  }
}

module.exports = { Link };
