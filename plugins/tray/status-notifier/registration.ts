/* The panel's side: `org.kde.StatusNotifierWatcher` knows the items, hosts draw them. Most panels are both. */
import type { Release } from "../../../kernel/index.ts";
import { busDaemon, variant, type Bus, type Message, type BusTarget } from "../dbus/index.ts";

const watcherName = "org.kde.StatusNotifierWatcher";
const watcher: BusTarget = {
  destination: watcherName,
  path: "/StatusNotifierWatcher",
  interface: watcherName,
};
const match =
  `type='signal',sender='${busDaemon.destination}',interface='${busDaemon.interface}',` +
  `member='NameOwnerChanged',arg0='${watcherName}'`;
/** A panel that has just come may not answer yet. */
const minRetryMs = 250;
const maxRetryMs = 8_000;

const doNotQueueFlag = 4;
const primaryOwnerReply = 1;

export interface RegistrationOptions {
  readonly bus: Bus;
  readonly pid: number;
  /** Told when a panel has the icon and when it has gone. */
  readonly shown: (isShown: boolean) => void;
  readonly after: (ms: number, run: () => void) => Release;
}
export interface Registration {
  /** Makes the item known; answers why it is not seen when it is not. Rejects when the bus does not work. */
  begin(): Promise<string | undefined>;
  /** Makes it known again when a panel has come. */
  heard(signal: Message): void;
}

export function createRegistration({ bus, pid, shown, after }: RegistrationOptions): Registration {
  let name = bus.name;
  let stopWaiting: Release = () => undefined;
  /** Of the watcher: what was asked of the one before says nothing of this one. */
  let generation = 0;

  /** The specification wants a name of this form; where another container has it, the unique one does. */
  async function takeName(): Promise<void> {
    const wanted = `org.kde.StatusNotifierItem-${pid}-1`;
    const [result] = await bus.call(busDaemon, "RequestName", "su", [wanted, doNotQueueFlag]);
    if (result === primaryOwnerReply) name = wanted;
  }

  async function appear(): Promise<string | undefined> {
    const asked = generation;
    try {
      await bus.call(watcher, "RegisterStatusNotifierItem", "s", [name]);
    } catch (error) {
      return `no panel takes the icons of programs (${(error as Error).message})`;
    }
    if (!(await hasHost())) return "no panel shows the icons of programs";
    if (asked !== generation) return "the panel has gone again";
    shown(true);
    return undefined;
  }

  /** A watcher that does not say counts as one that has. */
  async function hasHost(): Promise<boolean> {
    const properties = { ...watcher, interface: "org.freedesktop.DBus.Properties" };
    const question = [watcherName, "IsStatusNotifierHostRegistered"];
    const [found] = await bus
      .call(properties, "Get", "ss", question)
      .catch(() => [variant("b", true)]);
    return typeof found !== "object" || !("value" in found) || found.value !== false;
  }

  function again(pause: number): void {
    stopWaiting = after(pause, () => {
      const asked = generation;
      void appear().then((why) => {
        if (why !== undefined && asked === generation && pause < maxRetryMs) again(pause * 2);
      });
    });
  }

  return {
    async begin() {
      await bus.call(busDaemon, "AddMatch", "s", [match]);
      await takeName();
      return appear();
    },
    heard({ sender, member, body: [changed, , owner] }) {
      if (
        sender !== busDaemon.destination ||
        member !== "NameOwnerChanged" ||
        changed !== watcherName
      )
        return;
      stopWaiting();
      generation += 1;
      if (owner === "") shown(false);
      else again(minRetryMs);
    },
  };
}
