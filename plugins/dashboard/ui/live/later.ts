/** Parts of a page that load after it, or when they are used before. @module */
import { signal, type ReadonlySignal } from "@preact/signals";
import { toast } from "../frame/toasts.ts";

const retryMs = 2000;
/** Starts the loading of each part. Undefined once the page reacts: then parts load immediately. */
let waiting: (() => void)[] | undefined = [];

/** A part of the page in a file of its own. */
export interface Later<T> {
  /** The exports of its module, or undefined until they are loaded. */
  readonly module: ReadonlySignal<T | undefined>;
  /** Calls `act` once the part is loaded. If it cannot be loaded, the page says so. */
  readonly use: (act?: (module: T) => unknown) => void;
  /** Gives the part to the server, which draws it with the page. */
  readonly provide: (module: T) => void;
}

/**
 * Registers a part of the page. It loads right after the page and not with its first use: by then,
 * the server may have newer files.
 */
export function later<T>(load: () => Promise<T>): Later<T> {
  const module = signal<T | undefined>(undefined);
  const acts: ((module: T) => unknown)[] = [];
  const start = (): void => {
    load().then(
      (loaded) => {
        module.value = loaded;
        for (const act of acts.splice(0)) act(loaded);
      },
      () => {
        if (acts.splice(0).length > 0)
          toast({ text: "A part of the page could not be loaded. Reload the page.", tone: "bad" });
        // Some browsers remember that a file failed. The others get it when the server is back.
        setTimeout(start, retryMs);
      },
    );
  };
  if (waiting) waiting.push(start);
  else start();
  return {
    module,
    use: (act = () => undefined) => {
      const loaded = module.peek();
      if (loaded) act(loaded);
      else acts.push(act);
    },
    provide: (given) => {
      module.value = given;
    },
  };
}

/** Loads all parts. Called once the page reacts. */
export function loadLater(): void {
  for (const start of waiting ?? []) start();
  waiting = undefined;
}
