// Registers the icon with the panel: `org.kde.StatusNotifierWatcher` lists the icons, hosts draw
// them. Most panels are both.
import type { Release } from "../../../kernel/index.ts";
import { busDaemon, variant, type Bus, type Message, type BusTarget } from "../dbus/index.ts";
import type { TrayBackendOptions } from "../service.ts";

const watcherName = "org.kde.StatusNotifierWatcher";
const watcher: BusTarget = {
  destination: watcherName,
  path: "/StatusNotifierWatcher",
  interface: watcherName,
};
const match =
  `type='signal',sender='${busDaemon.destination}',interface='${busDaemon.interface}',` +
  `member='NameOwnerChanged',arg0='${watcherName}'`;
/** A panel that has just started may not respond yet. */
const minRetryMs = 250;
const maxRetryMs = 8_000;

const doNotQueueFlag = 4;
const primaryOwnerReply = 1;

/** `shown` is called when a panel shows the icon and when the panel is gone. */
interface RegistrationOptions extends Pick<TrayBackendOptions, "shown" | "after"> {
  readonly bus: Bus;
  readonly pid: number;
}
export interface Registration {
  /**
   * Registers the icon. Rejects if the bus fails.
   *
   * @returns Why the icon is not visible, or undefined if it is.
   */
  begin(): Promise<string | undefined>;
  /** Registers the icon again when a signal announces a new panel. */
  onSignal(signal: Message): void;
}

export function createRegistration({ bus, pid, shown, after }: RegistrationOptions): Registration {
  let name = bus.name;
  let cancelRetry: Release = () => undefined;
  /** Counts watchers. A reply of an earlier watcher does not apply to the current one. */
  let generation = 0;

  /** The specification requires this name. If another container owns it, the unique name works. */
  async function requestName(): Promise<void> {
    const itemName = `org.kde.StatusNotifierItem-${pid}-1`;
    const [result] = await bus.call(busDaemon, "RequestName", "su", [itemName, doNotQueueFlag]);
    if (result === primaryOwnerReply) name = itemName;
  }

  async function register(): Promise<string | undefined> {
    const startGeneration = generation;
    try {
      await bus.call(watcher, "RegisterStatusNotifierItem", "s", [name]);
    } catch (error) {
      return `no panel accepts icons of programs (${(error as Error).message})`;
    }
    if (!(await hasHost())) return "no panel shows icons of programs";
    if (startGeneration !== generation) return "the panel has closed";
    shown(true);
    return undefined;
  }

  /** @returns True if the watcher has a host or does not have this property. */
  async function hasHost(): Promise<boolean> {
    const properties = { ...watcher, interface: "org.freedesktop.DBus.Properties" };
    const propertyName = [watcherName, "IsStatusNotifierHostRegistered"];
    const [found] = await bus
      .call(properties, "Get", "ss", propertyName)
      .catch(() => [variant("b", true)]);
    return typeof found !== "object" || !("value" in found) || found.value !== false;
  }

  function retryAfter(pauseMs: number): void {
    cancelRetry = after(pauseMs, () => {
      const startGeneration = generation;
      void register().then((reason) => {
        if (reason !== undefined && startGeneration === generation && pauseMs < maxRetryMs)
          retryAfter(pauseMs * 2);
      });
    });
  }

  return {
    async begin() {
      await bus.call(busDaemon, "AddMatch", "s", [match]);
      await requestName();
      return register();
    },
    onSignal({ sender, member, body: [busName, , owner] }) {
      if (
        sender !== busDaemon.destination ||
        member !== "NameOwnerChanged" ||
        busName !== watcherName
      )
        return;
      cancelRetry();
      generation += 1;
      if (owner === "") shown(false);
      else retryAfter(minRetryMs);
    },
  };
}
