/** Parts of a page that load after it, or when they are used before. @module */
import { signal, type ReadonlySignal } from "@preact/signals";
import { toast } from "../frame/toasts.ts";
import { serverNow } from "./clock.ts";

const minRetryMs = 1_000;
const maxRetryMs = 30_000;
/** Starts the loading of each part. Undefined once the page reacts: then parts load immediately. */
let waiting: (() => void)[] | undefined = [];

/** Differs for each attempt, also of other parts. */
let attempts = 0;

/**
 * Browsers remember for the life of the page that a module could not be loaded. A query makes it
 * another module. The bundler keeps the name of the file in the text of the function.
 */
function loadAgain<T>(load: () => Promise<T>): Promise<T> {
  const [, name] = /^\(\)\s*=>\s*import\(.(\.\/[^"'`]+)/.exec(String(load)) ?? [];
  if (name === undefined) return load();
  return import(new URL(`${name}?again=${++attempts}`, import.meta.url).href) as Promise<T>;
}

/** A part of the page in a file of its own. */
export interface Later<T> {
  /** The exports of its module, or undefined until they are loaded. */
  readonly module: ReadonlySignal<T | undefined>;
  /** Unix milliseconds of the next attempt, if the part could not be loaded. */
  readonly retryAt: ReadonlySignal<number | undefined>;
  /** Resolves with the exports, however many attempts that takes. Never rejects. */
  readonly loaded: Promise<T>;
  /** Attempts now to load a part that could not be loaded. */
  readonly retry: () => void;
  /** Calls `act` once the part is loaded. If it cannot be loaded, the page says so. */
  readonly use: (act?: (module: T) => unknown) => void;
  /** Gives the part to the server, which draws it with the page. */
  readonly provide: (module: T) => void;
}

/**
 * Registers a part of the page. It loads right after the page and not with its first use: by then,
 * the server may have newer files. After a failure, it loads again after one second, then after two
 * and so on, up to 30 seconds.
 */
export function later<T>(load: () => Promise<T>): Later<T> {
  const module = signal<T | undefined>(undefined);
  const retryAt = signal<number | undefined>(undefined);
  const acts: ((module: T) => unknown)[] = [];
  let settle: (module: T) => void;
  const loaded = new Promise<T>((resolve) => (settle = resolve));
  let retryMs = minRetryMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = (isAgain = false): void => {
    timer = undefined;
    (isAgain ? loadAgain(load) : load()).then(
      (found) => {
        module.value = found;
        retryAt.value = undefined;
        settle(found);
        for (const act of acts.splice(0)) act(found);
      },
      () => {
        if (acts.splice(0).length > 0)
          toast({
            text: "A part of the page could not be loaded. Try again, or reload the page.",
            tone: "bad",
          });
        retryAt.value = serverNow() + retryMs;
        timer = setTimeout(start, retryMs, true);
        retryMs = Math.min(2 * retryMs, maxRetryMs);
      },
    );
  };
  if (waiting) waiting.push(() => start());
  else start();
  return {
    module,
    retryAt,
    loaded,
    retry() {
      if (timer === undefined) return;
      clearTimeout(timer);
      start(true);
    },
    use: (act = () => undefined) => {
      const found = module.peek();
      if (found) act(found);
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
