// Shows the tray and updates it when the launcher changes.
import type { Scope } from "../../kernel/index.ts";
import type { PicoServerEvents } from "../pico-server/index.ts";
import type { SettingsEvents } from "../settings/index.ts";
import { createActions } from "./actions.ts";
import { desktopEnvironment } from "./desktop.ts";
import { createClipboard } from "./clipboard.ts";
import type {
  TrayBackend,
  TrayBackendOptions,
  TrayOptions,
  TrayShape,
  TrayView,
} from "./service.ts";
import { createView, type TrayFacts } from "./view.ts";

interface ControllerOptions extends TrayOptions {
  readonly platform: NodeJS.Platform;
  readonly required: boolean;
  readonly closing: AbortSignal;
}

/** Collects a burst of events into one update. */
const redrawDelayMs = 200;

/** Rejects with a reason, in lower case and without a period, if there is no tray. */
export async function openTray(
  scope: Scope<TrayShape>,
  options: ControllerOptions,
): Promise<{ close(): Promise<void> }> {
  const {
    uses: { picoServer },
    lifecycle,
    log,
    after,
  } = scope;
  const { title = "Doorward", version = "", hasLog = false, platform, required, closing } = options;
  const env = desktopEnvironment(options.env);
  let trayBackend: TrayBackend | undefined;
  let isShown = false;
  let isScheduled = false;

  function currentView(): TrayView {
    return createView({
      title,
      version,
      hasLog,
      state: lifecycle.state(),
      tokenOwner: tokenOwnerOf(scope),
      channel: picoServer?.status(),
    });
  }

  function setShown(shown: boolean): void {
    if (shown === isShown) return;
    isShown = shown;
    log.info(
      {},
      shown
        ? "the tray icon is shown"
        : "the tray icon is hidden; it returns when the panel returns",
    );
    options.shown?.(shown);
  }

  function scheduleUpdate(): void {
    if (isScheduled) return;
    isScheduled = true;
    after(redrawDelayMs, () => {
      isScheduled = false;
      trayBackend?.show(currentView());
    });
  }

  // The kernel may not have the plugins that emit these three events.
  const on = scope.on as unknown as Scope<{ listens: PicoServerEvents & SettingsEvents }>["on"];
  on("pico-server:connected", scheduleUpdate);
  on("pico-server:disconnected", scheduleUpdate);
  on("settings:changed", scheduleUpdate);
  scope.on("token-store:rotated", scheduleUpdate);
  scope.on("kernel:state-changed", scheduleUpdate);

  const clipboard = createClipboard({ env, platform, after });
  const notify = async (text: string): Promise<boolean> => trayBackend?.notify(text) ?? false;
  const choose = createActions(scope, { ...options, clipboard, notify });
  trayBackend = await openBackend(platform, {
    env,
    view: currentView(),
    choose,
    required,
    shown: setShown,
    log,
    after,
    closing,
  });
  scheduleUpdate();
  return { close: clipboard.close };
}

/** @returns Where the launcher token is kept if it cannot be copied. */
function tokenOwnerOf({ needs }: Scope<TrayShape>): TrayFacts["tokenOwner"] {
  if (needs.tokens.info("launcher").managedByEnv) return "environment";
  return needs.tokenSecrets.reveal("launcher") === undefined ? "host" : undefined;
}

/** Rejects with a reason, in lower case and without a period, if there is no tray. */
async function openBackend(
  platform: NodeJS.Platform,
  options: TrayBackendOptions,
): Promise<TrayBackend> {
  if (platform === "darwin") return (await import("./platforms/script.ts")).openMacos(options);
  if (platform === "win32") return (await import("./platforms/script.ts")).openWindows(options);
  return (await import("./platforms/linux.ts")).openLinux(options);
}
