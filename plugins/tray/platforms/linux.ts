/* The tray of desktops with D-Bus: Linux and the BSDs. It comes back when the panel or the bus does. */
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

/** Rejects when there is no bus; when it is required, also when there is no panel that shows it. */
export async function openLinux(options: TrayBackendOptions): Promise<TrayBackend> {
  const { env, choose, required, shown, log, after, leaving } = options;
  let { view } = options;
  let bus: Bus;
  let registration: Registration | undefined;
  let connection = new AbortController();
  let stopWaiting: Release = () => undefined;
  const menu = createMenu(() => view, choose);
  const objects = {
    [itemPath]: {
      [itemInterface]: createItem(
        "doorward",
        () => view,
        () => choose("open"),
      ),
    },
    [menuPath]: { [menuInterface]: menu.interface },
  };

  /** Answers why the icon is not seen, when it is not. */
  async function connect(): Promise<string | undefined> {
    connection.abort();
    connection = new AbortController();
    bus = await openBus({
      env,
      uid: process.getuid?.() ?? 0,
      objects,
      after,
      leaving: AbortSignal.any([leaving, connection.signal]),
      heard: (signal) => registration?.heard(signal),
      closed(reason) {
        log.warn({ reason }, "the session bus is gone; the tray waits for it");
        shown(false);
        again(minReconnectMs);
      },
    });
    registration = createRegistration({ bus, pid: process.pid, shown, after });
    return registration.begin();
  }

  function again(pause: number): void {
    stopWaiting();
    stopWaiting = after(
      pause,
      () => void connect().catch(() => again(Math.min(pause * 2, maxReconnectMs))),
    );
  }

  const why = await connect().catch((error: Error) => {
    stopWaiting();
    connection.abort();
    throw new Error(`there is no session bus (${error.message})`);
  });
  if (why !== undefined && required) throw new Error(why);
  if (why !== undefined)
    log.info({ reason: why }, "no tray yet; its icon appears with a panel that takes it");

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
      const words = [title, 0, "", title, markup(text), [], hints, notificationMs];
      return bus.call(notifications, "Notify", "susssasa{sv}i", words).then(
        () => true,
        () => false,
      );
    },
  };
}
