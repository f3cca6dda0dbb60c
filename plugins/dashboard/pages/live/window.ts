/** Fits the page above a keyboard on the screen, and checks restored pages. @module */
import { sendRequest } from "./api.ts";

type Visible = Pick<VisualViewport, "height" | "scale">;

/**
 * @param windowHeight - CSS pixels of the window, which the keyboard of some phones covers.
 * @returns CSS pixels above the keyboard, or undefined if nothing covers the window.
 */
function heightAboveKeyboard({ height, scale }: Visible, windowHeight: number): number | undefined {
  // A magnified page is larger than what is visible of it.
  if (scale !== 1 || windowHeight - height < 1) return undefined;
  return Math.round(height);
}

/** Safari on phones knows no `interactive-widget`: the keyboard covers the page. */
export function followKeyboard(): void {
  const view = window.visualViewport;
  if (!view) return;
  const { style } = document.documentElement;
  const fit = (): void => {
    const height = heightAboveKeyboard(view, innerHeight);
    if (height === undefined) return void style.removeProperty("--app-height");
    style.setProperty("--app-height", `${height}px`);
    // The browser has moved the field into view before the page fitted.
    scrollTo(0, 0);
  };
  view.addEventListener("resize", fit);
}

/**
 * A browser may restore a page that was left, with everything it showed. If the sign-in has ended,
 * the page is loaded again, which asks for a sign-in.
 */
export function checkRestored(): void {
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    const root = document.documentElement;
    root.hidden = true;
    void sendRequest("GET", "/api/status").then((answer) => {
      if ("error" in answer && answer.error.status === 401) return location.reload();
      root.hidden = false;
    });
  });
}
