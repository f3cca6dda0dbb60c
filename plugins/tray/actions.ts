// Runs the actions of the tray menu.
import type { Scope } from "../../kernel/index.ts";
import type { Clipboard } from "./clipboard.ts";
import type { TrayOptions, TrayShape, MenuChoice } from "./service.ts";

interface ActionsOptions extends Pick<TrayOptions, "open" | "quit"> {
  readonly clipboard: Clipboard;
  /** @returns False if the desktop does not show notifications. */
  readonly notify: (text: string) => Promise<boolean>;
}

/**
 * Creates the function that runs a menu choice. It ignores a choice that is still running and shows
 * errors as notifications on the desktop.
 */
export function createActions(
  scope: Scope<TrayShape>,
  options: ActionsOptions,
): (choice: MenuChoice) => void {
  const {
    needs: { tokens, tokenSecrets, http, signInLinks },
    uses: { picoServer },
    log,
  } = scope;
  const { clipboard, notify, open, quit } = options;
  const running = new Set<MenuChoice>();

  const urlOf = (path: string): URL => {
    const [first] = http.addresses();
    if (!first) throw new Error("the dashboard has no address yet");
    return new URL(path, first);
  };

  async function openPage(page?: string): Promise<void> {
    const { path, privateUrl } = signInLinks.mint(page);
    // Other local programs do not get the cookie of the private host name.
    if (await open(privateUrl === undefined ? urlOf(path) : new URL(privateUrl))) return;
    await report(`Cannot open a browser. The dashboard is at ${urlOf(http.url("/")).href}`);
  }

  async function report(text: string): Promise<void> {
    log.warn({}, text);
    await notify(text);
  }

  async function copyToken(): Promise<void> {
    const value = tokens.info("launcher").managedByEnv
      ? undefined
      : tokenSecrets.reveal("launcher");
    if (value === undefined) return;
    try {
      await clipboard.copySecret(value);
      log.info({}, "the launcher token was copied to the clipboard");
    } catch (error) {
      await report(`Cannot copy the token: ${(error as Error).message}. Run: doorward token show`);
    }
  }

  async function copyLink(): Promise<void> {
    try {
      await clipboard.copy(urlOf(signInLinks.mint().copyPath).href);
    } catch (error) {
      await report(`Cannot copy the link: ${(error as Error).message}. Run: doorward open -print`);
    }
  }

  const actions: Readonly<Record<MenuChoice, () => Promise<void>>> = {
    open: () => openPage(),
    "copy-token": copyToken,
    "copy-link": copyLink,
    rotate: () => openPage("/security"),
    channel: () => openPage(picoServer?.status().enabled ? "/clients/connections" : "/"),
    log: () => openPage("/activity"),
    quit: async () => quit(),
  };

  return (choice) => {
    if (running.has(choice)) return;
    running.add(choice);
    // Deferred, so that the panel receives its reply first.
    void Promise.resolve()
      .then(actions[choice])
      .catch((error: unknown) =>
        log.error({ err: error, choice }, "a menu item of the tray failed"),
      )
      .finally(() => running.delete(choice));
  };
}
