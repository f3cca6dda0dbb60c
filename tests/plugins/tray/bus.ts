// Starts a private session bus and a panel for the tests of the tray.
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { vi } from "vitest";
import {
  openBus,
  type Bus,
  type BusOptions,
  type Interface,
  type BusValue,
} from "../../../plugins/tray/dbus/index.ts";
import { findTool } from "../../support/tools.ts";

const daemon = findTool("dbus-daemon");
export const hasBus = daemon !== undefined;

export interface BusDaemon extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly address: string;
}

/** Starts a private session bus. `address` reuses the address of an earlier one. */
export async function startBus(
  address = `unix:tmpdir=${tmpdir()}`,
  env: NodeJS.ProcessEnv = process.env,
): Promise<BusDaemon> {
  const words = [
    "--session",
    "--nofork",
    "--nopidfile",
    "--print-address=1",
    `--address=${address}`,
  ];
  const child = spawn(daemon!, words, { stdio: ["ignore", "pipe", "ignore"], env });
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.includes("\n")) resolve(text);
    });
    void ended.then(() => reject(new Error("dbus-daemon does not start")));
  });
  return {
    env: {
      DBUS_SESSION_BUS_ADDRESS: line.trim(),
      DISPLAY: ":none",
      PATH: process.env["PATH"] ?? "",
    },
    address: line.trim().replace(/,guid=.*/, ""),
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

/** Waits until `check` passes, also on a busy machine. */
export const waitFor = (look: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(look, { timeout: 15_000, interval: 10 });

export const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

export interface Peer extends Bus, Disposable {}
/** Connects another program to the bus. */
export async function join(
  { env }: Pick<BusDaemon, "env">,
  options: Partial<BusOptions> = {},
): Promise<Peer> {
  const closing = new AbortController();
  const bus = await openBus({
    env,
    uid: process.getuid!(),
    objects: {},
    after,
    onSignal: () => undefined,
    closed: () => undefined,
    closing: closing.signal,
    ...options,
  });
  return Object.assign(bus, { [Symbol.dispose]: () => closing.abort() });
}

const watcherName = "org.kde.StatusNotifierWatcher";
export const itemPath = "/StatusNotifierItem";
export const itemInterface = "org.kde.StatusNotifierItem";
export const menuPath = "/MenuBar";
export const menuInterface = "com.canonical.dbusmenu";

export interface Row {
  readonly id: number;
  readonly label: string | undefined;
  readonly enabled: boolean | undefined;
  readonly type: string | undefined;
}
export interface Panel extends Disposable {
  /** Names of the registered items, oldest first. */
  readonly items: readonly string[];
  /** Resolves with the first item. */
  readonly item: Promise<string>;
  /** The members of the received signals. */
  readonly signals: readonly string[];
  property(name: string): Promise<any>;
  menu(): Promise<Row[]>;
  click(label: string): Promise<void>;
  activate(): Promise<void>;
  call(
    path: string,
    name: string,
    member: string,
    signature?: string,
    body?: readonly BusValue[],
  ): Promise<any>;
  /** Notifications of programs, as `[title, text]`. */
  readonly messages: readonly string[][];
}

export interface PanelOptions {
  readonly hasHost?: boolean;
  /** Without it, no program shows notifications. */
  readonly showsMessages?: boolean;
}

/** Starts a panel: it owns the name of the watcher, reads the item and its menu, and clicks. */
export async function startPanel(daemon: BusDaemon, options: PanelOptions = {}): Promise<Panel> {
  const { hasHost = true, showsMessages = true } = options;
  const items: string[] = [];
  const signals: string[] = [];
  const messages: string[][] = [];
  let told: (name: string) => void;
  const item = new Promise<string>((resolve) => {
    told = resolve;
  });
  const watcher: Interface = {
    properties: { IsStatusNotifierHostRegistered: { signature: "b", get: () => hasHost } },
    methods: {
      RegisterStatusNotifierItem: {
        takes: "s",
        gives: "",
        run: (name) => {
          items.push(name as string);
          told(name as string);
          return [];
        },
      },
    },
    signals: {},
  };
  const notifications: Interface = {
    properties: {},
    methods: {
      Notify: {
        takes: "susssasa{sv}i",
        gives: "u",
        run: (...[, , , title, text]) => {
          messages.push([title as string, text as string]);
          return [messages.length];
        },
      },
    },
    signals: {},
  };
  const bus = await join(daemon, {
    objects: {
      "/StatusNotifierWatcher": { [watcherName]: watcher },
      "/org/freedesktop/Notifications": { "org.freedesktop.Notifications": notifications },
    },
    onSignal: ({ member }) => void signals.push(member!),
  });
  const daemonPlace = {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
  };
  for (const name of [itemInterface, menuInterface]) {
    await bus.call(daemonPlace, "AddMatch", "s", [`type='signal',interface='${name}'`]);
  }
  if (showsMessages)
    await bus.call(daemonPlace, "RequestName", "su", ["org.freedesktop.Notifications", 4]);
  await bus.call(daemonPlace, "RequestName", "su", [watcherName, 4]);

  const call: Panel["call"] = async (path, name, member, signature = "", body = []) =>
    bus.call({ destination: await item, path, interface: name }, member, signature, body);
  const text = (properties: Map<string, { value: any }>, name: string): any =>
    properties.get(name)?.value;
  const panel: Panel = {
    items,
    item,
    signals,
    messages,
    call,
    async property(name) {
      const [{ value }] = await call(itemPath, "org.freedesktop.DBus.Properties", "Get", "ss", [
        itemInterface,
        name,
      ]);
      return value;
    },
    async menu() {
      const [, [, , children]] = await call(menuPath, menuInterface, "GetLayout", "iias", [
        0,
        -1,
        [],
      ]);
      return children.map(
        ({ value: [id, row] }: { value: [number, Map<string, { value: any }>] }) => ({
          id,
          label: text(row, "label"),
          enabled: text(row, "enabled"),
          type: text(row, "type"),
        }),
      );
    },
    async click(label) {
      const row = (await panel.menu()).find((each) => each.label === label);
      if (!row) throw new Error(`the menu has no "${label}"`);
      const data = { signature: "i", value: 0 };
      await call(menuPath, menuInterface, "Event", "isvu", [row.id, "clicked", data, 0]);
    },
    activate: () => call(itemPath, itemInterface, "Activate", "ii", [0, 0]),
    [Symbol.dispose]: () => bus[Symbol.dispose](),
  };
  return panel;
}
