/** Subscribes the event feed and the list of rejected clients to kernel events. @module */
import type { Clock, Scope } from "../../../kernel/index.ts";
import type { HttpEvents } from "../../http/index.ts";
import type { PicoServerEvents } from "../../pico-server/index.ts";
import type { ProgramEvents } from "../../program/index.ts";
import type { SettingsEvents } from "../../settings/index.ts";
import type { TokenStoreEvents } from "../../token-store/index.ts";
import type { DashboardEvents } from "../service.ts";
import type { ActivityLog } from "./activity.ts";
import type { EventFeed } from "./event-feed.ts";

type PublishScope = Scope<{
  listens: ProgramEvents &
    HttpEvents &
    PicoServerEvents &
    SettingsEvents &
    TokenStoreEvents &
    DashboardEvents;
}>;

/**
 * Publishes kernel events on the feed, and adds rejected clients to the list of the overview.
 * Events of plugins that are not loaded never occur.
 */
export function publishEvents(
  { on: subscribe, clock }: { on: unknown; clock: Clock },
  feed: EventFeed,
  activity: ActivityLog,
): void {
  const on = subscribe as PublishScope["on"];
  const at = (): number => clock.now();
  on("kernel:state-changed", ({ to }) => feed.publish("state", { at: at(), state: to }));
  on("pico-server:connected", (event) => feed.publish("connected", { at: at(), ...event }));
  on("pico-server:disconnected", (event) => feed.publish("disconnected", { at: at(), ...event }));
  on("pico-server:refused", (event) => {
    const { method: via = "none", retryAfterSeconds, ...rejection } = event;
    const until =
      retryAfterSeconds === undefined ? {} : { until: at() + retryAfterSeconds * 1_000 };
    activity.clientRefused({ at: at(), via, ...rejection, ...until });
    feed.publish("refused", { at: at(), ...event });
  });
  on("http:upgrade-unserved", ({ address }) => {
    const code = "wrong_path";
    activity.clientRefused({ at: at(), via: "none", code, address });
    feed.publish("refused", { at: at(), code, address });
  });
  on("dashboard:signed-in", ({ signIn, address, via }) =>
    feed.publish("signed-in", { at: at(), signIn, address, via }),
  );
  on("dashboard:sign-in-refused", (event) =>
    feed.publish("sign-in-refused", { at: at(), ...event }),
  );
  on("dashboard:signed-out", ({ signIn, reason }) =>
    feed.publish("signed-out", { at: at(), signIn, reason }),
  );
  on("program:state-changed", (event) => feed.publish("program", { at: at(), ...event }));
  on("token-store:resolved", () => feed.forget());
  on("token-store:rotated", ({ name }) => {
    if (name === "pico") activity.resolved("token_not_configured");
    feed.forget();
    feed.publish("token", { at: at(), name, what: "rotated" });
  });
  on("token-store:removed", ({ name }) =>
    feed.publish("token", { at: at(), name, what: "removed" }),
  );
  on("settings:changed", ({ section, keys: names }) => {
    const keys = names === "" ? [] : names.split(",");
    if (section === "channels.pico" && keys.includes("enabled")) activity.resolved("not_found");
    feed.publish("settings", { at: at(), section, keys });
  });
  on("settings:rejected", ({ section, message }) =>
    feed.publish("settings", { at: at(), section, rejected: message }),
  );
}
