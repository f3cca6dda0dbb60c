// Shows the tray on desktops with D-Bus: Linux and the BSDs. The icon returns when the panel or the
// bus returns.
import type { Release } from "../../../kernel/index.ts";
import { openBus, variant, type Bus } from "../dbus/index.ts";
import { changesOf, createItem, itemInterface, itemPath, markup } from "../status-notifier/item.ts";
import { createMenu, menuInterface, menuPath } from "../status-notifier/menu.ts";
import { createRegistration, type Registration } from "../status-notifier/registration.ts";
import type { TrayBackend, TrayBackendOptions } from "../service.ts";

const notifications = {
  destination: "org.freedesktop.Notifications",
  path: "/org/freedesktop/Notifications",
  interface: "org.freedesktop.Notifications",
};
const notificationMs = 15_000;
const minReconnectMs = 1_000;
const maxReconnectMs = 60_000;

/** Rejects if there is no bus and, with `required`, if no panel shows the icon. */
export async function openLinux(options: TrayBackendOptions): Promise<TrayBackend> {
  const { env, choose, required, shown, log, after, closing } = options;
  let { view } = options;
  let bus: Bus;
  let registration: Registration | undefined;
  let connection = new AbortController();
  let cancelReconnect: Release = () => undefined;
  const menu = createMenu(() => view, choose);
  const objects = {
    [itemPath]: {
      [itemInterface]: createItem(
        () => view,
        () => choose("open"),
      ),
    },
    [menuPath]: { [menuInterface]: menu.interface },
  };

  /** @returns Why the icon is not visible, or undefined if it is. */
  async function connect(): Promise<string | undefined> {
    connection.abort();
    connection = new AbortController();
    bus = await openBus({
      env,
      uid: process.getuid?.() ?? 0,
      objects,
      after,
      closing: AbortSignal.any([closing, connection.signal]),
      onSignal: (signal) => registration?.onSignal(signal),
      closed(reason) {
        log.warn({ reason }, "the session bus closed the connection; reconnecting");
        shown(false);
        reconnectAfter(minReconnectMs);
      },
    });
    registration = createRegistration({ bus, pid: process.pid, shown, after });
    return registration.begin();
  }

  function reconnectAfter(pauseMs: number): void {
    cancelReconnect();
    cancelReconnect = after(
      pauseMs,
      () => void connect().catch(() => reconnectAfter(Math.min(pauseMs * 2, maxReconnectMs))),
    );
  }

  const reason = await connect().catch((error: Error) => {
    cancelReconnect();
    connection.abort();
    throw new Error(`there is no session bus (${error.message})`);
  });
  if (reason !== undefined && required) throw new Error(reason);
  if (reason !== undefined)
    log.info({ reason }, "the tray icon is not visible yet; it appears when a panel accepts it");

  return {
    show(next) {
      const changes = changesOf(view, next);
      const isSame = JSON.stringify(view.items) === JSON.stringify(next.items);
      view = next;
      for (const { member, signature, body } of changes)
        bus.signal(itemPath, itemInterface, member, signature, body);
      if (!isSame) bus.signal(menuPath, menuInterface, "LayoutUpdated", "ui", menu.changed());
    },
    async notify(text) {
      const { title } = view;
      const hints = new Map([["urgency", variant("y", 1)]]);
      const parameters = [title, 0, "", title, markup(text), [], hints, notificationMs];
      return bus.call(notifications, "Notify", "susssasa{sv}i", parameters).then(
        () => true,
        () => false,
      );
    },
  };
}
