/* The pico channel. A client knocks (knock, gate, handshake), is a connection (connection: outbox, inbound,
 * subscriptions), and hears every session it has named (session-log). Applications reach it through channels (port);
 * what is asked by plain HTTP stands in requests. */
import type { Plugin } from "../../kernel/index.ts";
import { messageRateOf, picoSchema } from "./config.ts";
import { Connection } from "./connection/connection.ts";
import type { ConnectionContext } from "./connection/context.ts";
import { createMemoryBudget } from "./connection/memory-budget.ts";
import {
  connectionInfo,
  createConnectionList,
  createRegistry,
  type Peer,
} from "./connection/registry.ts";
import { createUpgrader } from "./connection/web-socket.ts";
import { memoizeLast } from "./frame-encoding.ts";
import { createAdmissionControl, type Admission } from "./handshake/admission.ts";
import { createHandshake, type AcceptedHandshake } from "./handshake/handshake.ts";
import { createRejectionReporter } from "./handshake/rejection.ts";
import type { HandshakeRequest } from "./handshake/request.ts";
import { createEventStream } from "./http/event-stream.ts";
import { createRouter, type RouterOptions } from "./http/router.ts";
import { countClose, createCounters, readMetrics } from "./metrics.ts";
import type { PicoServerShape } from "./service.ts";
import { createChannelAdapter } from "./session/channel-adapter.ts";
import { createMemorySessionLog } from "./session/memory-session-log.ts";
import { createShutdown } from "./shutdown.ts";
import { assertSettings } from "./startup-checks.ts";

export type {
  PicoServerShape,
  PicoServerEvents,
  PicoConnection,
  PicoMetrics,
  PicoServer,
  PicoServerStatus,
} from "./service.ts";

export type { PicoServerConfig } from "./config.ts";
export { picoErrors } from "./errors.ts";
export type {
  AppendResult,
  Cursor,
  LogEntry,
  Gap,
  SequencedEntry,
  DeliveryProgress,
  SequenceRange,
  SessionLog,
  Replay,
} from "./session/session-log.ts";

/** The same place for a WebSocket: `ws:` where the base is `http:`, `wss:` where it is `https:`. */
export function toWebSocketUrl(path: string, base: URL): string {
  const url = new URL(path, base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

export interface PicoServerOptions {
  /** Of the environment variables, as a start failure names them; default `SERVICE`. */
  readonly envPrefix?: string;
}

const upgradePaths = ["/pico", "/pico/", "/pico/ws", "/pico/ws/"];
/** Seconds a posted message may take to arrive: it may hold images. */
const messageBodyTimeoutS = 300;
/** Bytes that clients have sent and the application has not accepted; two of the largest messages always fit. */
const minBudget = 256 * 1024 * 1024;

/** Serves the channel at `/pico`. Start fails with `PICO_TOKEN_MISSING` when it is enabled without a token. */
export function picoServer({
  envPrefix = "SERVICE",
}: PicoServerOptions = {}): Plugin<PicoServerShape> {
  return {
    name: "pico-server",
    api: 1,
    needs: { tokens: true, http: true, channels: true },
    config: { section: "channels.pico", schema: picoSchema },

    async start(scope) {
      const {
        needs: { tokens, http, channels },
        clock,
        log,
        config,
        emit,
        lifecycle,
      } = scope;
      let serving = false;
      let stopMs = 0;
      let messagesIn = 0;
      let messagesOut = 0;

      await tokens.claim("pico");
      const checked = { tokens, http, log, envPrefix };
      await assertSettings(config(), checked);
      if (!config().enabled && !scope.uses.settings) {
        const setting = '{ config: { "channels.pico": { enabled: true } } }';
        log.warn({}, `picoServer() is in the list, but the channel is off: pass ${setting}`);
      }

      const newId = (): string => Buffer.from(scope.random(16)).toString("hex");
      const connections = createRegistry({
        ...scope,
        reconnectRate: () => config().reconnect_rate,
      });
      const counters = createCounters();
      const budget = createMemoryBudget(() => Math.max(minBudget, 2 * config().max_payload));
      const roster = createConnectionList(connections);
      const sessions = createMemorySessionLog({
        random: scope.random,
        now: () => clock.monotonic(),
        after: scope.after,
        sessionIdle: (session) => inlet.sessionIdle(session),
        settled: (session, id, status, reason) =>
          inlet.receipt(session, { id, status, ...(reason && { reason }) }),
      });
      const inlet = channels.attach(
        createChannelAdapter(sessions, clock, () => void (messagesOut += 1)),
      );
      const deliver: typeof inlet.deliver = (message, options) => {
        messagesIn += 1;
        return inlet.deliver(message, options);
      };
      const hand: typeof inlet.hand = (message, outcome, options) => {
        messagesIn += 1;
        inlet.hand(message, outcome, options);
      };
      const isOpen = (): boolean => serving && lifecycle.state() !== "unconfigured";
      const isBusy = (session?: string): boolean => inlet.isBusy(session);
      const drain = createShutdown({ connections, config, log, isBusy });
      const { retryAfterSeconds } = drain;
      const gate = createAdmissionControl({
        http,
        tokens,
        limiter: http.limiter(),
        config,
        isOpen,
        retryAfterSeconds,
      });

      const refused = createRejectionReporter({ ...scope, http, counters, gate });

      const context: ConnectionContext = {
        clock,
        log,
        config,
        newId,
        counters,
        sessions,
        budget,
        hand,
        isBusy,
        typing: inlet.typing,
        awake: connections.awake,
        reschedule: connections.reschedule,
        messageRate: messageRateOf(config),
        written: memoizeLast(({ session, cursor: { epoch, seq } }) =>
          sessions.note(session, { epoch, after: seq - 1, upTo: seq }, "written"),
        ),
        gone(peer, event) {
          connections.remove(peer);
          const { in: bytesIn, out: bytesOut } = peer.carried();
          counters.bytesIn += bytesIn;
          counters.bytesOut += bytesOut;
          countClose(counters, event);
          emit("pico-server:disconnected", event);
        },
      };

      /** Somebody takes a slot: it is looked after, listed and announced until it is gone. */
      function enter(
        peer: Peer,
        session: string,
        { peer: { address }, q }: HandshakeRequest,
        { method }: Admission,
      ): void {
        peer.known = connectionInfo({ session, address, method }, q.headers, clock.now());
        connections.add(peer);
        emit("pico-server:connected", { connection: peer.id, session, address, method });
      }

      function opened(
        acceptedHandshake: AcceptedHandshake,
        handshakeRequest: HandshakeRequest,
        admission: Admission,
      ): void {
        counters.handshakes["accepted"]! += 1;
        enter(
          new Connection(context, newId(), acceptedHandshake, admission),
          acceptedHandshake.session,
          handshakeRequest,
          admission,
        );
      }

      const listens: RouterOptions["listens"] = (
        { session, after },
        response,
        headers,
        handshakeRequest,
        admission,
      ) => {
        const { version: tokenVersion } = admission;
        const peer = createEventStream(context, {
          r: response,
          headers,
          id: newId(),
          session,
          after,
          tokenVersion,
        });
        enter(peer, session, handshakeRequest, admission);
      };

      const door = { http, gate, log, config, newId, refused, connections };
      const upgrader = createUpgrader(() => config().max_payload);
      const handshake = createHandshake({ ...door, upgrader, opened });
      const requests = createRouter({
        ...door,
        clock,
        sessions,
        deliver,
        isBusy,
        budget,
        listens,
      });
      const onGateway = { listener: "gateway", anyAuthorization: true } as const;
      http.request("/pico", requests, onGateway);
      http.request("/pico/messages", requests, { ...onGateway, bodySeconds: messageBodyTimeoutS });
      for (const path of upgradePaths) {
        http.upgrade(path, handshake, onGateway);
        // For its own page, when channels listen apart.
        http.upgrade(path, handshake, { ...onGateway, listener: "dashboard" });
      }

      scope.on("token-store:rotated", ({ name, version, graceS }) => {
        if (name === "pico") connections.endBefore(version, graceS);
      });
      scope.on("token-store:removed", ({ name }) => {
        if (name === "pico")
          connections.close("unauthorized", ({ tokenVersion }) => tokenVersion !== undefined);
      });
      scope.onConfig(async (next) => {
        await assertSettings(next, checked);
        if (!next.enabled) connections.close("going_away");
        else connections.reschedule(); // other times may hold now
      });
      scope.on("kernel:stop-begun", ({ timeoutMs }) => {
        serving = false;
        stopMs = timeoutMs;
      });
      scope.onReady(() => {
        serving = true;
        return async () => {
          serving = false;
          await drain.run(stopMs);
          await connections.empty();
        };
      });
      scope.onStop(() => inlet.close());

      return {
        picoServer: {
          url() {
            const [base] = http.addresses(gate.hasOwnListener() ? "gateway" : "dashboard");
            return config().enabled && base ? toWebSocketUrl(http.url("/pico"), base) : undefined;
          },
          connections: roster.list,
          disconnect: roster.disconnect,
          stopSeconds: () => config().drain_timeout,
          metrics: () => readMetrics(counters, connections),
          status: () => ({
            enabled: config().enabled,
            path: http.url("/pico"),
            listener: gate.hasOwnListener() ? "gateway" : "dashboard",
            connections: connections.count(),
            maxConnections: config().max_connections,
            messagesIn,
            messagesOut,
          }),
        },
      };
    },
  };
}
