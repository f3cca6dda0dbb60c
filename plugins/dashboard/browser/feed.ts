// Loads the status for the overview whenever an event changes it.
import type { StatusView } from "../api/views.ts";
import type { ApiError } from "./api.ts";
import { load } from "./owner.ts";
import { startStream } from "./stream.ts";

export interface Feed {
  /** Returns the status shown last, or undefined before the first response. */
  latest(): StatusView | undefined;
  /**
   * Loads the status now. Resolves when the page shows this response or a later one.
   *
   * @returns The error, or undefined after success.
   */
  refresh(): Promise<ApiError | undefined>;
}

/** Loads the status after each relevant event. */
export function startFeed(show: (status: StatusView) => void): Feed {
  let latest: StatusView | undefined;
  const refresh = () =>
    load<StatusView>("/api/status", (status) => {
      latest = status;
      show(status);
    });
  startStream({
    refresh,
    refreshOn: [
      "state",
      "rate",
      "connected",
      "disconnected",
      "signed-in",
      "sign-in-refused",
      "refused",
      "token",
      "program",
      "settings",
    ],
  });
  return { latest: () => latest, refresh };
}
