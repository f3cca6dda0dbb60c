import type { Scope } from "../../kernel/index.ts";
import type { Clipboard } from "./clipboard.ts";
import type { TrayOptions, TrayShape, MenuChoice } from "./service.ts";

export interface ActionsOptions extends Pick<TrayOptions, "open" | "quit"> {
  readonly clipboard: Clipboard;
  /** `false` when the desktop shows no messages. */
  readonly notify: (text: string) => Promise<boolean>;
}

/** What the items do. A choice that is still at work is not begun again; what goes wrong is said on the desktop. */
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
  const atWork = new Set<MenuChoice>();

  const address = (path: string): URL => {
    const [first] = http.addresses();
    if (!first) throw new Error("the dashboard has no address yet");
    return new URL(path, first);
  };

  async function show(page?: string): Promise<void> {
    const url = address(signInLinks.mint(page).path);
    if (await open(url)) return;
    await say(`No browser could be opened. The dashboard is at ${url.origin}${http.url("/")}`);
  }

  async function say(text: string): Promise<void> {
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
      await say(
        `The token was not copied: ${(error as Error).message}. In a terminal: doorward token show`,
      );
    }
  }

  async function copyLink(): Promise<void> {
    try {
      await clipboard.copy(address(signInLinks.mint().copyPath).href);
    } catch (error) {
      await say(
        `The link was not copied: ${(error as Error).message}. In a terminal: doorward open -print`,
      );
    }
  }

  const actions: Readonly<Record<MenuChoice, () => Promise<void>>> = {
    open: () => show(),
    "copy-token": copyToken,
    "copy-link": copyLink,
    rotate: () => show("/tokens"),
    channel: () => show(picoServer?.status().enabled ? "/connections" : "/"),
    log: () => show("/log"),
    quit: async () => quit(),
  };

  return (choice) => {
    if (atWork.has(choice)) return;
    atWork.add(choice);
    // The panel gets its answer first.
    void Promise.resolve()
      .then(actions[choice])
      .catch((error: unknown) => log.error({ err: error, choice }, "the tray's item does not work"))
      .finally(() => atWork.delete(choice));
  };
}
