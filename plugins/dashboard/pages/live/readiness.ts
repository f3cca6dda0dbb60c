/**
 * Tells which elements of the document react. The script that runs before the page uses it too.
 *
 * @module
 */

/** Sent to the window when a page, or a part of it that loads later, begins to react. */
export const readyEvent = "doorward-ready";

/** Attribute of elements whose components are not loaded yet. */
export const waitingAttribute = "data-waiting";

/** @returns True if no component reacts to the events of an element yet. */
export const isWaiting = (element: Element): boolean =>
  document.documentElement.dataset["ready"] === undefined ||
  element.closest(`[${waitingAttribute}]`) !== null;

/** Reports that more of the page reacts. */
export function reportReady(): void {
  dispatchEvent(new Event(readyEvent));
}
