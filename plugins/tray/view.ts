import type { LauncherState } from "../../kernel/index.ts";
import type { MenuItem, TrayView } from "./service.ts";

/** What is known of the launcher when the view is drawn. */
export interface TrayFacts {
  readonly title: string;
  readonly version: string;
  readonly state: LauncherState;
  /** Why the token cannot be copied. */
  readonly heldBy?: "environment" | "host";
  /** Absent without a channel. */
  readonly channel?: { readonly enabled: boolean; readonly connections: number };
  readonly hasLog: boolean;
}

const stateLabels: Readonly<Record<LauncherState, string>> = {
  unconfigured: "starting",
  setup: "first run: choose the token",
  running: "running",
  rotating: "replacing the token",
};

/** Draws the menu. Pure. */
export function createView({
  title,
  version,
  state,
  heldBy,
  channel,
  hasLog,
}: TrayFacts): TrayView {
  const item = (id: MenuItem["id"], label: string, enabled = true): MenuItem => ({
    id,
    label,
    enabled,
  });
  const why = heldBy && ` (set by the ${heldBy})`;
  return {
    title,
    hint: [stateLabels[state], ...(channel ? [channelLabel(channel)] : [])].join(", "),
    state,
    items: [
      item("open", "Open Dashboard"),
      "separator",
      item("copy-token", `Copy Console Token${why ?? ""}`, why === undefined),
      item("copy-link", "Copy Sign-in Link"),
      item("rotate", "Rotate Token…"),
      "separator",
      ...(channel ? [item("channel", channelLabel(channel))] : []),
      ...(hasLog ? [item("log", "Show Log")] : []),
      item("version", `${title}${version === "" ? "" : ` ${version}`}`, false),
      "separator",
      item("quit", "Quit"),
    ],
  };
}

function channelLabel({ enabled, connections }: NonNullable<TrayFacts["channel"]>): string {
  if (!enabled) return "Pico channel: off";
  return `Pico channel: ${connections} ${connections === 1 ? "connection" : "connections"}`;
}
