import type { StatusView } from "../status.ts";
import { load } from "./owner.ts";
import { atMostEvery, startStream } from "./stream.ts";

export interface Feed {
  /** The status last shown; undefined until the first answer. */
  latest(): StatusView | undefined;
  /** Asks now, and resolves when the answer is shown. */
  refresh(): Promise<unknown>;
}

/** Asks for the status whenever something happened, at most every second. */
export function startFeed(show: (status: StatusView) => void): Feed {
  let latest: StatusView | undefined;
  let round = 0;
  const refresh = () => {
    const mine = ++round;
    return load<StatusView>("/api/status", (status) => {
      if (mine !== round) return; // a later question was asked meanwhile
      latest = status;
      show(status);
    });
  };
  const soon = atMostEvery(1000, refresh);
  const on = {
    state: soon, rate: soon, connected: soon, disconnected: soon, "signed-in": soon, "sign-in-refused": soon,
    refused: soon, token: soon, program: soon, settings: soon,
  };
  startStream({ refresh, on });
  return { latest: () => latest, refresh };
}
