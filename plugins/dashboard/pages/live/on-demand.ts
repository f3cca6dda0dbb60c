/** Parts of a page that have a file of their own. @module */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { toast, toasts } from "../frame/toasts.ts";

/**
 * Registers a part. Until it is loaded, the page draws something simpler. If it cannot be loaded,
 * the page says so.
 *
 * @returns A hook with the exports of the part, which loads it after the drawing that needs it.
 *   Its `load` resolves with the exports, and never rejects.
 */
export function onDemand<T>(load: () => Promise<T>) {
  const module = signal<T | undefined>(undefined);
  let loading: Promise<T> | undefined;
  const start = (): Promise<T> =>
    (loading ??= new Promise((resolve) => {
      load().then(
        (found) => {
          module.value = found;
          resolve(found);
        },
        () => {
          loading = undefined;
          reportMissing();
        },
      );
    }));
  const use = (isNeeded = true): T | undefined => {
    useEffect(() => {
      if (isNeeded) void start();
    }, [isNeeded]);
    return isNeeded ? module.value : undefined;
  };
  return Object.assign(use, { load: start });
}

/** Browsers remember for the life of a page that a module could not be loaded. */
function reportMissing(): void {
  const text = "A part of the page could not be loaded.";
  if (toasts.peek().some((shown) => shown.text === text)) return;
  toast({
    text,
    tone: "bad",
    action: { name: "Reload the page", act: () => location.reload() },
  });
}
