/* The launcher's icon in the panel of a desktop. This file is small on purpose: what draws and speaks is loaded when
 * everything else is ready, and only where there is a desktop. */
import type { Plugin } from "../../kernel/index.ts";
import { missingDesktopReason } from "./desktop.ts";
import { trayErrors } from "./errors.ts";
import type { TrayOptions, TrayShape } from "./service.ts";

export type { TrayOptions, TrayShape } from "./service.ts";

export { trayErrors } from "./errors.ts";

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
        const opening = import("./controller.ts").then(({ openTray }) =>
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
