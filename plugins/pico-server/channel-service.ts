// The `picoServer` service: state of the channel, and control over its connections.
import type { Http } from "../http/index.ts";
import type { PicoServerConfig } from "./config.ts";
import { createConnectionList, type ConnectionRegistry } from "./connection/registry.ts";
import type { AdmissionControl } from "./handshake/admission.ts";
import { readMetrics, type Counters } from "./metrics.ts";
import type { PicoServer, PicoServerStatus } from "./service.ts";

/** Converts an HTTP base URL and a path to the WebSocket URL of the same server. */
export function toWebSocketUrl(path: string, base: URL): string {
  const url = new URL(path, base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

interface ChannelServiceOptions extends Pick<PicoServer, "protocol"> {
  readonly http: Http;
  readonly config: () => PicoServerConfig;
  readonly connections: ConnectionRegistry;
  readonly counters: Counters;
  readonly admissionControl: AdmissionControl;
  /** Messages of clients, and to clients, since startup. */
  readonly messages: () => Pick<PicoServerStatus, "messagesIn" | "messagesOut">;
}

export function createChannelService({
  http,
  config,
  connections,
  counters,
  admissionControl,
  messages,
  protocol,
}: ChannelServiceOptions): PicoServer {
  const { list, disconnect } = createConnectionList(connections);
  const listener = (): "gateway" | "dashboard" =>
    admissionControl.hasOwnListener() ? "gateway" : "dashboard";
  return {
    url() {
      const [base] = http.addresses(listener());
      return config().enabled && base ? toWebSocketUrl(http.url("/pico"), base) : undefined;
    },
    connections: list,
    disconnect,
    stopSeconds: () => config().drain_timeout,
    metrics: () => readMetrics(counters, connections),
    protocol,
    status: () => ({
      enabled: config().enabled,
      path: http.url("/pico"),
      listener: listener(),
      connections: connections.count(),
      maxConnections: config().max_connections,
      ...messages(),
    }),
  };
}
