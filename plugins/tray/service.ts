// Options of the tray, its view, and the interface of its platform backends.
import type { LauncherState, Log, Release } from "../../kernel/index.ts";
import type { SignInLinks } from "../dashboard/index.ts";
import type { Http } from "../http/index.ts";
import type { PicoServer } from "../pico-server/index.ts";
import type { TokenSecrets, TokenStoreEvents, Tokens } from "../token-store/index.ts";

/** Options of `tray`. */
export interface TrayOptions {
  /** The environment. Child processes receive only its desktop variables. */
  readonly env: Environment;
  /** Opens a URL in the browser. The URL has a one-time code. Resolves to false on failure. */
  readonly open: (url: URL) => Promise<boolean>;
  /** Called for the menu item "Quit". */
  readonly quit: () => void;
  /** Product name in the menu and the tooltip. @defaultValue `"Doorward"` */
  readonly title?: string;
  /** Version shown in the menu. @defaultValue none */
  readonly version?: string;
  /**
   * If true, the start fails with `TRAY_UNAVAILABLE` when the icon cannot be shown. Otherwise the
   * reason is logged. @defaultValue false
   */
  readonly required?: boolean;
  /** Called when the icon appears or disappears. */
  readonly shown?: (isShown: boolean) => void;
  /** Adds a menu item for the page Activity. @defaultValue false */
  readonly hasLog?: boolean;
  /** @defaultValue `process.platform` */
  readonly platform?: NodeJS.Platform;
}

/** Types of the tray plugin for the kernel. */
export type TrayShape = {
  /** A rotated launcher token updates the menu. */
  listens: Pick<TokenStoreEvents, "token-store:rotated">;
  /**
   * The token store for the launcher token, the http plugin for the address, sign-in links to open
   * the dashboard.
   */
  needs: { tokens: Tokens; tokenSecrets: TokenSecrets; http: Http; signInLinks: SignInLinks };
  /** The pico channel, for its status in the menu. */
  uses: { picoServer: PicoServer };
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** Menu items that can be chosen. */
export const menuChoices = [
  "open",
  "copy-token",
  "copy-link",
  "rotate",
  "channel",
  "log",
  "quit",
] as const;
export type MenuChoice = (typeof menuChoices)[number];

export interface MenuItem {
  readonly id: MenuChoice | "version";
  /** Plain text. */
  readonly label: string;
  readonly enabled: boolean;
}

/** Content of the tray. */
export interface TrayView {
  readonly title: string;
  /** Plain text, one line. */
  readonly hint: string;
  readonly state: LauncherState;
  readonly items: readonly (MenuItem | "separator")[];
}

/** The open tray of one platform. */
export interface TrayBackend {
  show(view: TrayView): void;
  /** Shows a notification. Resolves to false if the desktop does not show it. */
  notify(text: string): Promise<boolean>;
}

export interface TrayBackendOptions {
  /** Environment of child processes; has no secrets. */
  readonly env: Environment;
  readonly view: TrayView;
  readonly choose: (choice: MenuChoice) => void;
  /** If true, opening fails on a desktop without a panel for icons. */
  readonly required: boolean;
  /** Called when the icon appears or disappears. */
  readonly shown: (isShown: boolean) => void;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  /** Closes the tray, also while it is being opened. */
  readonly closing: AbortSignal;
}
