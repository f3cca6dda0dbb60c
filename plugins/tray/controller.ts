import type { Scope } from "../../kernel/index.ts";
import type { PicoServerEvents } from "../pico-server/index.ts";
import type { SettingsEvents } from "../settings/index.ts";
import { createActions } from "./actions.ts";
import { desktopEnvironment } from "./desktop.ts";
import { createClipboard } from "./clipboard.ts";
import type { TrayOptions, TrayShape } from "./service.ts";
import { openBackend } from "./platforms/index.ts";
import { createView, type TrayFacts } from "./view.ts";
import { type TrayBackend, type TrayView } from "./service.ts";

export interface ControllerOptions extends TrayOptions {
  readonly platform: NodeJS.Platform;
  readonly required: boolean;
  readonly leaving: AbortSignal;
}

/** A burst of connections is drawn once. */
const redrawDelayMs = 200;

/** Shows the tray and keeps it true. Rejects with a sentence's end that says why there is none. */
export async function openTray(
  scope: Scope<TrayShape>,
  options: ControllerOptions,
): Promise<{ close(): Promise<void> }> {
  const {
    needs: { tokens, tokenSecrets },
    uses: { picoServer },
    lifecycle,
    log,
    after,
  } = scope;
  const { title = "Doorward", version = "", hasLog = false, platform, required, leaving } = options;
  const env = desktopEnvironment(options.env);
  let trayBackend: TrayBackend | undefined;
  let isShown = false;
  let waiting = false;

  function draw(): TrayView {
    const { managedByEnv } = tokens.info("launcher");
    const isKept = tokenSecrets.reveal("launcher") === undefined;
    const heldBy: TrayFacts["heldBy"] = managedByEnv ? "environment" : isKept ? "host" : undefined;
    const channel = picoServer?.status();
    return createView({
      title,
      version,
      hasLog,
      state: lifecycle.state(),
      ...(heldBy ? { heldBy } : {}),
      ...(channel ? { channel } : {}),
    });
  }

  function shown(is: boolean): void {
    if (is === isShown) return;
    isShown = is;
    log.info(
      {},
      is ? "the tray's icon is there" : "the tray's icon is gone; it comes back with its panel",
    );
    options.shown?.(is);
  }

  function changed(): void {
    if (waiting) return;
    waiting = true;
    after(redrawDelayMs, () => {
      waiting = false;
      trayBackend?.show(draw());
    });
  }

  // The channel and the settings need not be there: their facts are heard where they are.
  const on = scope.on as unknown as Scope<{ listens: PicoServerEvents & SettingsEvents }>["on"];
  on("pico-server:connected", changed);
  on("pico-server:disconnected", changed);
  on("settings:changed", changed);
  scope.on("token-store:rotated", changed);
  scope.on("kernel:state-changed", changed);

  const clipboard = createClipboard({ env, platform, after });
  const notify = async (text: string): Promise<boolean> => trayBackend?.notify(text) ?? false;
  const choose = createActions(scope, { ...options, clipboard, notify });
  trayBackend = await openBackend({
    platform,
    env,
    view: draw(),
    choose,
    required,
    shown,
    log,
    after,
    leaving,
  });
  changed();
  return { close: clipboard.close };
}
