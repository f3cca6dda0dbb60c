/** Data of a page that follows the events of the server. @module */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { FeedEvents } from "../../shared/feed-views.ts";
import type { ApiError } from "./api.ts";
import { load } from "./owner.ts";
import { subscribe } from "./stream.ts";

interface Resource<T> {
  /** The newest data. Undefined before the first response, if the page had none. */
  readonly value: ReadonlySignal<T>;
  /** The error of the last attempt; the data before it stays. */
  readonly error: ReadonlySignal<ApiError | undefined>;
  /** Loads the data now. @returns The error, or undefined after success. */
  readonly refresh: () => Promise<ApiError | undefined>;
}

interface ResourceOptions {
  /** Events after which the data is loaded again. */
  readonly refreshOn?: readonly (keyof FeedEvents)[];
  /** Shortest time between two such loads. @defaultValue one second */
  readonly minIntervalMs?: number;
}

/**
 * Data of an API path. After a change of `path`, the old data stays until the new path is loaded.
 *
 * @param initial - The data in the document, or undefined to load it immediately.
 */
export function useResource<T>(path: string, initial: T, options: ResourceOptions = {}) {
  const value = useSignal(initial);
  const error = useSignal<ApiError | undefined>(undefined);
  const refresh = useCallback(async () => {
    const found = await load<T>(path, (body) => {
      value.value = body;
    });
    error.value = found;
    return found;
  }, [path]);
  useEffect(() => {
    return subscribe({ ...options, refresh });
  }, [refresh]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current || value.peek() === undefined) void refresh();
    isFirst.current = false;
  }, [refresh]);
  return { value, error, refresh } satisfies Resource<T>;
}

type Listeners = { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void };

/** Calls the newest functions after events of the server. */
export function useEvents(on: Listeners): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(
    () =>
      subscribe({
        get on() {
          return latest.current;
        },
      }),
    [],
  );
}
