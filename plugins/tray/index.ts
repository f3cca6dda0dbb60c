/* The launcher's icon in the panel of a desktop. This file is small on purpose: what draws and speaks is loaded when
 * everything else is ready, and only where there is a desktop. */
import type { Plugin } from "../../kernel/index.ts";
import type { SignInLinks } from "../dashboard/index.ts";
import type { Http } from "../http/index.ts";
import type { PicoServer } from "../pico-server/index.ts";
import type { Tokens, TokenSecrets, TokenStoreEvents } from "../token-store/index.ts";
import { missingDesktopReason } from "./desktop.ts";
import { trayErrors } from "./errors.ts";

export { trayErrors } from "./errors.ts";

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
  hears: Pick<TokenStoreEvents, "token-store:rotated">;
  needs: { tokens: Tokens; tokenSecrets: TokenSecrets; http: Http; signInLinks: SignInLinks };
  uses: { picoServer: PicoServer };
};

/** An icon with a menu: opens the dashboard, copies the launcher's token or a sign-in link, shows the channel. */
export function tray(options: TrayOptions): Plugin<TrayShape> {
  const { env, required = false, platform = process.platform } = options;
  return {
    name: "tray",
    api: 1,
    needs: { tokens: true, tokenSecrets: true, http: true, signInLinks: true },
    uses: { picoServer: true },
    start(scope) {
      const why = missingDesktopReason(env, platform);
      if (why !== undefined && required) throw trayErrors.TRAY_UNAVAILABLE(why);
      if (why !== undefined) return scope.log.info({ reason: why }, "no tray");
      scope.onReady(async () => {
        const leaving = new AbortController();
        const opening = import("./desk.ts").then(({ openTray }) =>
          openTray(scope, { ...options, platform, required, leaving: leaving.signal }),
        );
        const close = async (): Promise<void> => {
          leaving.abort();
          await (await opening.catch(() => undefined))?.close();
        };
        const missing = (error: Error): void => {
          if (!leaving.signal.aborted) scope.log.info({ reason: error.message }, "no tray");
        };
        if (!required) void opening.catch(missing);
        else
          await opening.catch(async (error: Error) => {
            await close();
            throw trayErrors.TRAY_UNAVAILABLE(error.message);
          });
        return close;
      });
    },
  };
}
