import type { LauncherState, Log, Release } from "../../kernel/index.ts";
import type { SignInLinks } from "../dashboard/index.ts";
import type { Http } from "../http/index.ts";
import type { PicoServer } from "../pico-server/index.ts";
import type { TokenSecrets, TokenStoreEvents, Tokens } from "../token-store/index.ts";

export interface TrayOptions {
  /** Where the desktop is: a copy of the environment. Children get the desktop's variables of it and nothing else. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shows a page in the person's browser; false when it cannot. The address holds a one-time link. */
  readonly open: (url: URL) => Promise<boolean>;
  /** Ends the program. */
  readonly quit: () => void;
  /** Default `Doorward`. */
  readonly title?: string;
  readonly version?: string;
  /** Without a tray the start fails with `TRAY_UNAVAILABLE`; else that is a line in the log. */
  readonly required?: boolean;
  /** Told when the icon is there and when it is not any more. */
  readonly shown?: (isShown: boolean) => void;
  /** The dashboard has a log page. */
  readonly hasLog?: boolean;
  readonly platform?: NodeJS.Platform;
}

export type TrayShape = {
  listens: Pick<TokenStoreEvents, "token-store:rotated">;
  needs: { tokens: Tokens; tokenSecrets: TokenSecrets; http: Http; signInLinks: SignInLinks };
  uses: { picoServer: PicoServer };
};

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
