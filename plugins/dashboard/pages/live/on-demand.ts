/** Parts of a page that load when they are first drawn. @module */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/**
 * Registers a part that few pages need. The page draws something simpler until the part is loaded,
 * and after a failure. The next use tries again.
 *
 * @returns A hook with the exports of the module, or undefined until they are loaded.
 */
export function onDemand<T>(load: () => Promise<T>) {
  const module = signal<T | undefined>(undefined);
  let loading: Promise<void> | undefined;
  const start = (): void => {
    loading ??= load().then(
      (found) => void (module.value = found),
      () => void (loading = undefined),
    );
  };
  return (isNeeded = true): T | undefined => {
    useEffect(() => {
      if (isNeeded) start();
    }, [isNeeded]);
    return isNeeded ? module.value : undefined;
  };
}
