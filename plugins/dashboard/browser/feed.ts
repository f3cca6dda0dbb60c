import type { StatusView } from "../api/views.ts";
import type { Refusal } from "./api.ts";
import { load } from "./owner.ts";
import { startStream } from "./stream.ts";

export interface Feed {
  /** The status last shown; undefined until the first answer. */
  latest(): StatusView | undefined;
  /** Asks now, and resolves when this answer or a later one is shown; answers the refusal, if there was one. */
  refresh(): Promise<Refusal | undefined>;
}

/** Asks for the status whenever something happened. */
export function startFeed(show: (status: StatusView) => void): Feed {
  let latest: StatusView | undefined;
  const refresh = () =>
    load<StatusView>("/api/status", (status) => {
      latest = status;
      show(status);
    });
  startStream({
    refresh,
    news: [
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
