import type { Clock, Scope } from "../../../kernel/index.ts";
import type { ProgramEvents } from "../../program/index.ts";
import type { HttpEvents } from "../../http/index.ts";
import type { PicoServerEvents } from "../../pico-server/index.ts";
import type { SettingsEvents } from "../../settings/index.ts";
import type { TokenStoreEvents } from "../../token-store/index.ts";
import type { ActivityLog } from "../activity.ts";
import type { DashboardEvents } from "../events.ts";
import type { EventFeed } from "./feed.ts";

type PublishScope = Scope<{
  hears: ProgramEvents &
    HttpEvents &
    PicoServerEvents &
    SettingsEvents &
    TokenStoreEvents &
    DashboardEvents;
}>;

/** Puts facts on the feed, and refused clients on the overview's list. Those of the channel and of the settings come
 *  where these plugins are there. */
export function publishEvents(
  { on: hear, clock }: { on: unknown; clock: Clock },
  feed: EventFeed,
  activity: ActivityLog,
): void {
  const on = hear as PublishScope["on"];
  const at = (): number => clock.now();
  on("kernel:state-changed", ({ to }) => feed.publish("state", { at: at(), state: to }));
  on("pico-server:connected", (fact) => feed.publish("connected", { at: at(), ...fact }));
  on("pico-server:disconnected", (fact) => feed.publish("disconnected", { at: at(), ...fact }));
  on("pico-server:refused", (fact) => {
    const { method: via = "none", retryAfterSeconds, ...what } = fact;
    const until =
      retryAfterSeconds === undefined ? {} : { until: at() + retryAfterSeconds * 1_000 };
    activity.clientRefused({ at: at(), via, ...what, ...until });
    feed.publish("refused", { at: at(), ...fact });
  });
  on("http:upgrade-unserved", ({ address }) => {
    const code = "wrong_path";
    activity.clientRefused({ at: at(), via: "none", code, address });
    feed.publish("refused", { at: at(), code, address });
  });
  on("dashboard:signed-in", (fact) => feed.publish("signed-in", { at: at(), ...fact }));
  on("dashboard:sign-in-refused", (fact) => feed.publish("sign-in-refused", { at: at(), ...fact }));
  on("dashboard:signed-out", (fact) => feed.publish("signed-out", { at: at(), ...fact }));
  on("program:state-changed", (fact) => feed.publish("program", { at: at(), ...fact }));
  on("token-store:rotated", ({ name }) =>
    feed.publish("token", { at: at(), name, what: "rotated" }),
  );
  on("token-store:removed", ({ name }) =>
    feed.publish("token", { at: at(), name, what: "removed" }),
  );
  on("settings:changed", ({ section, keys }) =>
    feed.publish("settings", { at: at(), section, keys: keys === "" ? [] : keys.split(",") }),
  );
  on("settings:rejected", ({ section, message }) =>
    feed.publish("settings", { at: at(), section, rejected: message }),
  );
}
