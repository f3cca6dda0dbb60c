// Creates the content of the tray from the state of the launcher.
import type { LauncherState } from "../../kernel/index.ts";
import type { MenuItem, TrayView } from "./service.ts";

/** The state of the launcher that the tray shows. */
export interface TrayFacts {
  readonly title: string;
  readonly version: string;
  readonly state: LauncherState;
  /** Set if the token cannot be copied, because Doorward does not keep it in a file. */
  readonly tokenOwner?: "environment" | "host" | undefined;
  /** Undefined without the pico channel. */
  readonly channel?: { readonly enabled: boolean; readonly connections: number } | undefined;
  readonly hasLog: boolean;
}

const stateLabels: Readonly<Record<LauncherState, string>> = {
  unconfigured: "starting",
  setup: "setup: choose a token",
  running: "running",
  rotating: "rotating a token",
};

/** Pure: the same facts always give an equal view. */
export function createView({
  title,
  version,
  state,
  tokenOwner,
  channel,
  hasLog,
}: TrayFacts): TrayView {
  const item = (id: MenuItem["id"], label: string, enabled = true): MenuItem => ({
    id,
    label,
    enabled,
  });
  const note = tokenOwner && ` (set by the ${tokenOwner})`;
  return {
    title,
    hint: [stateLabels[state], ...(channel ? [channelLabel(channel)] : [])].join(", "),
    state,
    items: [
      item("open", "Open Dashboard"),
      "separator",
      item("copy-token", `Copy Console Token${note ?? ""}`, note === undefined),
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
