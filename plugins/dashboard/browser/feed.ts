import type { StatusView } from "../status.ts";
import type { Refusal } from "./api.ts";
import { load } from "./owner.ts";
import { atMostEvery, startStream } from "./stream.ts";

export interface Feed {
  /** The status last shown; undefined until the first answer. */
  latest(): StatusView | undefined;
  /** Asks now, and resolves when this answer or a later one is shown; answers the refusal, if there was one. */
  refresh(): Promise<Refusal | undefined>;
}

/** Asks for the status whenever something happened, at most every second. */
export function startFeed(show: (status: StatusView) => void): Feed {
  let latest: StatusView | undefined;
  const refresh = () => load<StatusView>("/api/status", (status) => {
    latest = status;
    show(status);
  });
  const soon = atMostEvery(1000, refresh);
  const on = {
    state: soon, rate: soon, connected: soon, disconnected: soon, "signed-in": soon, "sign-in-refused": soon,
    refused: soon, token: soon, program: soon, settings: soon,
  };
  startStream({ refresh, on });
  return { latest: () => latest, refresh };
}
