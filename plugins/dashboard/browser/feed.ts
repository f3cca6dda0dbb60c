import type { StatusView } from "../status.ts";
import { ask, signInAgain } from "./api.ts";
import { live, setLive } from "./dom.ts";

const pause = 2000;

export interface Feed {
  /** The status last shown; undefined until the first answer. */
  latest(): StatusView | undefined;
  /** Asks now instead of at the next turn, and resolves when the answer is shown. */
  refresh(): Promise<void>;
}

/** Asks for the status every 2 s while the page is visible. */
export function startFeed(show: (status: StatusView) => void): Feed {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest: StatusView | undefined;
  let round = 0;

  const refresh = async (): Promise<void> => {
    clearTimeout(timer);
    const mine = ++round;
    const answer = await ask<StatusView>("GET", "/api/status");
    if (mine !== round) return; // a later question was asked meanwhile
    if ("body" in answer) {
      latest = answer.body;
      show(latest);
      say("Live", "ok");
    } else if (answer.refused.status === 401) {
      return signInAgain();
    } else {
      say("Reconnecting…", "warn");
    }
    if (!document.hidden) timer = setTimeout(refresh, pause);
  };

  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : void refresh()));
  void refresh();
  return { latest: () => latest, refresh };
}

function say(text: string, tone: string): void {
  setLive("feed", text);
  live("feed")?.setAttribute("data-tone", tone);
}
