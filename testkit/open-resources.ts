// Finds the servers, connections and timers that a kernel under test leaves open.
import { AsyncResource, createHook, executionAsyncId } from "node:async_hooks";
import { connect, type Socket } from "node:net";
import { once } from "node:events";

/** Type of an async resource -> its name in messages. */
const names: Readonly<Record<string, string>> = {
  TCPSERVERWRAP: "a TCP server",
  PIPESERVERWRAP: "a local server",
  TCPWRAP: "a TCP connection",
  PIPEWRAP: "a local connection",
  UDPWRAP: "a UDP socket",
  Timeout: "a timer",
  FSEVENTWRAP: "a file watcher",
  STATWATCHER: "a file watcher",
  PROCESSWRAP: "a child process",
};

const pollMs = 5;

interface OpenResource {
  readonly name: string;
  /** File and line that opened it, if known. */
  readonly place: string;
  readonly isServer: boolean;
  readonly handle: object;
}

/** The resources that a tracked call opened, directly or through what it started. */
export interface OpenResources {
  /** Opens a connection to each TCP server, and sends nothing. */
  connectIdle(): Promise<readonly Socket[]>;
  /** @returns The servers and UDP sockets that have a port, with their addresses. */
  listeners(): readonly string[];
  /** Whether the code that runs belongs to the tracked call, or to what it started. */
  isOwn(): boolean;
  /** Waits until nothing is open. @returns What is still open after `ms` milliseconds. */
  remaining(ms: number): Promise<readonly string[]>;
  /** Ends the tracking. */
  end(): void;
}

const lineOf = (frame: string): string =>
  /(?:^|[/\\(])([^/\\(]+:\d+):\d+\)?$/.exec(frame.replaceAll("\\", "/"))?.[1] ?? "";
const isFromNode = (frame: string): boolean => /\(?node:/.test(frame);
/** Node pools the connections of `fetch` and of `http.request`; they outlive every caller. */
const isPooled = (frame: string): boolean => /undici|_http_agent/.test(frame);
const isTimerCode = (frame: string): boolean => /async_hooks|timers|open-resources/.test(frame);

/** @returns undefined for a resource that belongs to Node. */
function describeResource(type: string, handle: object): OpenResource | undefined {
  const known = names[type];
  if (known === undefined) return undefined;
  const frames = (new Error().stack ?? "").split("\n").slice(1);
  const outer = frames.filter((frame) => !isTimerCode(frame));
  if (frames.some(isPooled) || (type === "Timeout" && isFromNode(outer[0] ?? "node:")))
    return undefined;
  const isInterval = type === "Timeout" && Reflect.get(handle, "_repeat") != null;
  return {
    name: isInterval ? "an interval" : known,
    place: lineOf(outer.find((frame) => !isFromNode(frame)) ?? ""),
    isServer: type === "TCPSERVERWRAP",
    handle,
  };
}

/** Node has no public way from the async resource of a server to its address. */
function addressOf(handle: object): { port: number; host: string }[] {
  const bound: { port?: number; address?: string } = {};
  (handle as { getsockname?: (out: object) => number }).getsockname?.(bound);
  const { port, address = "" } = bound;
  if (!port) return [];
  return [{ port, host: ["", "0.0.0.0", "::"].includes(address) ? "localhost" : address }];
}

/** Node destroys a UDP socket only when its memory is reclaimed, but it closes it before. */
const isClosed = ({ handle }: OpenResource): boolean =>
  handle.constructor.name === "UDP" && ((handle as { fd?: number }).fd ?? 0) < 0;

/**
 * Runs `start` and tracks what it opens. Sockets that a tracked server accepts are tracked as well.
 *
 * @returns The result of `start` and the resources.
 */
export function trackResources<T>(start: (resources: OpenResources) => T): {
  result: T;
  resources: OpenResources;
} {
  const owned = new Set<number>();
  const open = new Map<number, OpenResource>();
  const hook = createHook({
    init(id, type, triggerId, handle) {
      if (!owned.has(triggerId) && !owned.has(executionAsyncId())) return;
      owned.add(id);
      const found = describeResource(type, handle);
      if (found) open.set(id, found);
    },
    destroy(id) {
      owned.delete(id);
      open.delete(id);
    },
  }).enable();
  const root = new AsyncResource("doorward-conformance", { requireManualDestroy: true });
  owned.add(root.asyncId());

  const resources: OpenResources = {
    async connectIdle() {
      const servers = [...open.values()].filter(({ isServer }) => isServer);
      const addresses = servers.flatMap(({ handle }) => addressOf(handle));
      return Promise.all(
        addresses.map(async (address) => {
          const socket = connect(address).on("error", () => undefined);
          await once(socket, "connect");
          return socket;
        }),
      );
    },
    listeners: () =>
      [...open.values()]
        .filter(({ isServer, handle }) => isServer || handle.constructor.name === "UDP")
        .flatMap(({ name, place, handle }) =>
          addressOf(handle).map(({ port }) => `${name} on port ${port} (${place})`),
        ),
    isOwn: () => owned.has(executionAsyncId()),
    async remaining(ms) {
      const deadline = Date.now() + ms;
      const left = (): OpenResource[] => [...open.values()].filter((each) => !isClosed(each));
      while (left().length > 0 && Date.now() < deadline)
        await new Promise((resolve) => void setTimeout(resolve, pollMs));
      return left().map(({ name, place }) => (place ? `${name} (${place})` : name));
    },
    end: () => void hook.disable(),
  };
  return { result: root.runInAsyncScope(() => start(resources)), resources };
}
