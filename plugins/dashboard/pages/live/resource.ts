/** Data of a page that follows the events of the server. @module */
import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { ApiError } from "./api.ts";
import { load } from "./owner.ts";
import { pageStream, subscribe, type Subscriber } from "./stream.ts";

/**
 * Data of an API path. After a change of `path`, the old data stays until the new path is loaded,
 * and after an error until the next attempt.
 *
 * @param initial - The data in the document, or undefined to load it immediately.
 */
export function useResource<T>(
  path: string,
  initial: T,
  options: Pick<Subscriber, "refreshOn" | "minIntervalMs"> = {},
) {
  const value = useSignal(initial);
  const error = useSignal<ApiError | undefined>(undefined);
  const refresh = useCallback(async () => {
    const found = await load<T>(path, (body) => {
      value.value = body;
    });
    error.value = found;
    return found;
  }, [path]);
  const isFirst = useRef(true);
  useEffect(() => {
    const stop = subscribe({ ...options, refresh });
    const isInDocument = isFirst.current && value.peek() !== undefined;
    isFirst.current = false;
    if (!isInDocument && !pageStream.isOpen) void refresh();
    return stop;
  }, [refresh]);
  return { value, error, refresh };
}
