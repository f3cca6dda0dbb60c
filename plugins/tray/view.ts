import type { LauncherState, Log, Release } from "../../kernel/index.ts";

/** What can be chosen in the menu. */
export type MenuChoice =
  | "open"
  | "copy-token"
  | "copy-link"
  | "rotate"
  | "channel"
  | "log"
  | "quit";

export interface MenuItem {
  readonly id: MenuChoice | "version";
  /** Plain text. */
  readonly label: string;
  readonly enabled: boolean;
}

/** What the tray shows. */
export interface TrayView {
  readonly title: string;
  /** Plain text, one line. */
  readonly hint: string;
  readonly state: LauncherState;
  readonly items: readonly (MenuItem | "separator")[];
}

/** The tray of one platform, once it is there. */
export interface TrayBackend {
  show(view: TrayView): void;
  /** A message of the desktop; `false` when it shows none. */
  notify(text: string): Promise<boolean>;
}

export interface TrayBackendOptions {
  /** Where the desktop is; without secrets, since children get it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly view: TrayView;
  readonly choose: (choice: MenuChoice) => void;
  /** A desktop that has no tray yet is no place for it either. */
  readonly required: boolean;
  /** Told when the icon is there and when it is not any more. */
  readonly shown: (isShown: boolean) => void;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  /** Takes it away, also while it is being opened. */
  readonly leaving: AbortSignal;
}

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
