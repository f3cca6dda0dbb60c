// Shows an icon with a menu in the panel of a desktop. The drawing code is loaded only if there is
// a desktop, and after everything else is ready.
import type { Plugin } from "../../kernel/index.ts";
import { missingDesktopReason } from "./desktop.ts";
import { trayErrors } from "./errors.ts";
import type { TrayOptions, TrayShape } from "./service.ts";

export type { TrayOptions, TrayShape } from "./service.ts";

export { trayErrors } from "./errors.ts";

/**
 * Creates the plugin for the tray icon. Its menu opens the dashboard, copies the launcher token or
 * a sign-in link, and shows the state of the channel.
 *
 * @throws TRAY_UNAVAILABLE if `required` is true and there is no desktop, session bus or panel.
 * @example
 * import { createKernel } from "doorward";
 * import { dashboard } from "doorward/plugins/dashboard";
 * import { http } from "doorward/plugins/http";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * import { tray } from "doorward/plugins/tray";
 * const icon = tray({
 *   env: process.env,
 *   open: (url) => openBrowser(url),
 *   quit: () => process.kill(process.pid, "SIGTERM"),
 * });
 * const store = tokenStore(memory({ launcher: token }));
 * const kernel = createKernel([store, http(), dashboard(), icon]);
 */
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
      if (why !== undefined)
        return scope.log.info({ reason: why }, "the tray icon is not available");
      scope.onReady(async () => {
        const closing = new AbortController();
        const opening = import("./controller.ts").then(({ openTray }) =>
          openTray(scope, { ...options, platform, required, closing: closing.signal }),
        );
        const close = async (): Promise<void> => {
          closing.abort();
          await (await opening.catch(() => undefined))?.close();
        };
        const missing = (error: Error): void => {
          if (!closing.signal.aborted)
            scope.log.info({ reason: error.message }, "the tray icon is not available");
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
