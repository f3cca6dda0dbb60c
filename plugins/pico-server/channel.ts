// Creates the parts of the pico channel, connects them, and offers the `picoServer` service.
import type { ServerResponse } from "node:http";
import type { Log, Plugin } from "../../kernel/index.ts";
import type { ChannelHandle } from "../channels/index.ts";
import type { LogListeners, SessionLog } from "../conversations/index.ts";
import { MemorySessionLog } from "../conversations/log/index.ts";
import type { Http } from "../http/index.ts";
import type { TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { PicoServerConfig } from "./config.ts";
import { Connection } from "./connection/connection.ts";
import type { ConnectionContext, RuntimeContext } from "./connection/context.ts";
import { MessageFiles, mediaPath } from "./session/message-files.ts";
import { FrameTurns } from "./connection/frame-turns.ts";
import { MemoryBudget } from "./connection/memory-budget.ts";
import { createBodyMemory, type BodyMemory } from "./http/body-memory.ts";
import { picoErrors } from "./errors.ts";
import {
  connectionInfo,
  createConnectionList,
  createRegistry,
  toConnectionSecret,
  type ConnectionRegistry,
  type Peer,
} from "./connection/registry.ts";
import { memoizeLast } from "./frame-encoding.ts";
import { AdmissionControl, type Admission } from "./handshake/admission.ts";
import { KeyAdmissionControl } from "./handshake/key-admission.ts";
import type { HandshakeRequest } from "./handshake/request.ts";
import { createHandshake, type AcceptedHandshake } from "./handshake/handshake.ts";
import { createRejectionReporter } from "./handshake/rejection.ts";
import { redactSessions, SessionGuard } from "./session/session-guard.ts";
import { EventStream } from "./http/event-stream.ts";
import { PicoRouter, type EventStreamRequest, type HeaderMap } from "./http/router.ts";
import { countClose, createCounters, readMetrics } from "./metrics.ts";
import type { PicoServer, PicoServerEvents, PicoServerShape } from "./service.ts";
import { PicoChannelAdapter, RecentEnds } from "./session/channel-adapter.ts";
import { ProtocolHub } from "./protocol-hub.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";

type ChannelScope = Pick<
  Parameters<Plugin<PicoServerShape>["start"]>[0],
  "needs" | "uses" | "clock" | "log" | "config" | "emit" | "random" | "after" | "lifecycle"
>;

const upgradePaths = ["", "/", "/ws", "/ws/"];
/** Seconds that a posted message may take to arrive: it may contain images. */
const messageBodyTimeoutS = 300;
/** Seconds that a file may take to arrive: the slowest allowed rate ends it earlier. */
const fileBodyTimeoutS = 86_400;
/** Smallest memory budget for unaccepted messages. Two messages of `max_payload` always fit. */
const minBudget = 256 * 1024 * 1024;

/** File descriptors reserved for files, listeners and HTTP requests. */
export const reservedDescriptors = 64;

/**
 * @returns The current and the required limit of open files; undefined if the limit suffices or is
 *   unknown.
 */
export function missingDescriptors(
  connections: number,
  has: number | undefined,
): { has: number; needs: number } | undefined {
  const needs = connections + reservedDescriptors;
  return has === undefined || has >= needs ? undefined : { has, needs };
}

interface CheckDependencies {
  readonly tokens: Pick<Tokens, "info" | "describe">;
  readonly http: Pick<Http, "openFiles">;
  readonly log: Log;
  readonly envPrefix: string;
}

/**
 * @throws PICO_TOKEN_MISSING if the channel is enabled and has no token.
 * @throws PICO_DESCRIPTORS if the process may not open enough files.
 */
export async function assertSettings(
  next: PicoServerConfig,
  { tokens, http, log, envPrefix }: CheckDependencies,
): Promise<void> {
  const { enabled, ping_interval, read_timeout, max_connections } = next;
  if (!enabled) return;
  if (tokens.info("pico").source === "none") {
    // Only a token store that reads the environment knows a variable.
    const { variable } = await tokens.describe("pico");
    throw picoErrors.PICO_TOKEN_MISSING(variable === undefined ? undefined : envPrefix);
  }
  const files = missingDescriptors(max_connections, await http.openFiles());
  if (files) throw picoErrors.PICO_DESCRIPTORS(max_connections, files.has, files.needs);
  if (ping_interval < read_timeout) return;
  const text = "ping_interval is not below read_timeout, so pings are sent every read_timeout / 2";
  log.warn({ ping_interval, read_timeout }, text);
}

const checkEveryMs = 1_000;
/** Milliseconds after which clients are closed: their token may have been revoked elsewhere. */
const maxAwayMs = 60_000;

/**
 * Watches a shared store; any other needs no watch.
 *
 * @returns A function that returns true while the shared store is away.
 */
function watchStore(
  { uses: { conversations }, clock, after }: ChannelScope,
  connections: Pick<ConnectionRegistry, "close">,
): () => boolean {
  if (!conversations?.ownership) return () => false;
  const isAway = (): boolean => conversations.health().state === "away";
  let awaySince: number | undefined;
  const check = (): void => {
    const now = clock.monotonic();
    if (!isAway()) awaySince = undefined;
    else if (now - (awaySince ??= now) >= maxAwayMs) connections.close("try_later");
    after(checkEveryMs, check);
  };
  after(checkEveryMs, check);
  return isAway;
}

/** Converts an HTTP base URL and a path to the WebSocket URL of the same server. */
export function toWebSocketUrl(path: string, base: URL): string {
  const url = new URL(path, base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

export class PicoChannel {
  private readonly scope: ChannelScope;
  private readonly checks: CheckDependencies;
  private readonly counters = createCounters();
  private readonly connections: ConnectionRegistry;
  private readonly budget: MemoryBudget;
  private readonly body: () => BodyMemory;
  private readonly sessions: SessionLog;
  private readonly ends: RecentEnds;
  private readonly channel: ChannelHandle;
  private readonly shutdown: Shutdown;
  private readonly admissionControl: AdmissionControl;
  /** Undefined without the plugin `keys`. */
  private readonly keyAdmissionControl: KeyAdmissionControl | undefined;
  private readonly context: ConnectionContext;
  private readonly files: MessageFiles;
  private readonly sessionGuard: SessionGuard;
  private readonly protocols = new ProtocolHub();
  private isServing = false;
  private stopMs = 0;
  private messagesIn = 0;
  private messagesOut = 0;

  constructor(scope: ChannelScope, checks: CheckDependencies) {
    const { needs, uses, clock, log, config, random, after, lifecycle } = scope;
    const { tokens, http, channels } = needs;
    this.scope = scope;
    this.checks = checks;
    const reconnectRate = (): number => config().reconnect_rate;
    this.connections = createRegistry({ clock, after, random, reconnectRate });
    const { connections } = this;
    const maxMemory = (): number => Math.max(minBudget, 2 * config().max_payload);
    this.budget = new MemoryBudget(maxMemory);
    this.body = createBodyMemory(this.budget, maxMemory);
    const listeners: LogListeners = {
      sessionActive: (session) => this.channel.sessionActive(session),
      sessionIdle: (session) => this.channel.sessionIdle(session),
      onReceipt: (session, id, status, reason) =>
        this.channel.receipt(session, { id, status, ...(reason && { reason }) }),
      renewed: (session) => {
        this.connections.close("restart", (peer) => peer.usesSession(session));
        this.protocols.renewed(session);
      },
      // They connect again, and learn what runs now.
      interrupted: (session) =>
        this.connections.close(
          "restart",
          (peer) => peer.knowsRunning === true && peer.usesSession(session),
        ),
      replaced: (session, isSame) => this.connections.replaceOf(session, isSame),
    };
    this.sessions =
      uses.conversations?.open("pico", listeners) ??
      new MemorySessionLog({ random, now: () => clock.monotonic(), after, ...listeners });
    const countSent = (): void => void (this.messagesOut += 1);
    const { sessions } = this;
    this.ends = new RecentEnds(sessions.limits.retentionMs);
    const newId = (): string => Buffer.from(random(16)).toString("hex");
    this.channel = channels.attach(
      this.protocols.observe(
        new PicoChannelAdapter({
          sessions,
          clock,
          onSent: countSent,
          newId,
          ends: this.ends,
          drainMs: () => config().drain_timeout * 1_000,
          fileUrl: (id) => http.url(mediaPath(id)),
          after,
        }),
      ),
    );
    const isBusy = (session?: string): boolean => this.channel.isBusy(session);
    const { stopTimes } = this.channel;
    this.shutdown = createShutdown({ connections, config, log, isBusy, stopTimes });
    const admission = {
      http,
      tokens,
      limiter: http.limiter(),
      config,
      log,
      isOpen: () => this.isServing && lifecycle.state() !== "unconfigured",
      isStoreAway: watchStore(scope, this.connections),
      retryAfterSeconds: this.shutdown.retryAfterSeconds,
    };
    this.admissionControl = new AdmissionControl(admission);
    const { keys } = uses;
    this.keyAdmissionControl = keys && new KeyAdmissionControl(admission, keys);
    this.sessionGuard = new SessionGuard(tokens, (text) => keys?.containsKey(text) === true);
    this.files = new MessageFiles(uses.media, (path) => http.url(path));
    this.context = this.createContext(isBusy);
  }

  registerRoutes(): void {
    const { needs, uses } = this.scope;
    const { http } = needs;
    const { handshake, router } = this.createEntrance("pico", this.admissionControl);
    const route = { listener: "gateway", anyAuthorization: true } as const;
    // Pages of the dashboard connect here when the channels have their own listener.
    const pageRoute = { ...route, listener: "dashboard" } as const;
    const bodySeconds = messageBodyTimeoutS;
    const files = { ...route, bodySeconds: fileBodyTimeoutS };
    http.request("/pico", router, route);
    http.request("/pico/messages", router, { ...route, bodySeconds });
    http.request("/pico/messages", router, { ...pageRoute, bodySeconds });
    if (uses.media) http.request("/pico/media", router, files);
    for (const path of ["/pico/answer", "/pico/events", "/pico/stop"])
      http.request(path, router, pageRoute);
    for (const path of upgradePaths) {
      http.upgrade(`/pico${path}`, handshake, route);
      http.upgrade(`/pico${path}`, handshake, pageRoute);
    }
    if (!this.keyAdmissionControl) return;
    const withKeys = this.createEntrance("keys", this.keyAdmissionControl);
    http.request("/keys", withKeys.router, route);
    http.request("/keys/messages", withKeys.router, { ...route, bodySeconds });
    if (uses.media) http.request("/keys/media", withKeys.router, files);
    for (const path of upgradePaths) http.upgrade(`/keys${path}`, withKeys.handshake, route);
  }

  /** Creates what serves the channel to clients with its token, or with keys. */
  private createEntrance(entrance: "pico" | "keys", admissionControl: AdmissionControl) {
    const { emit, needs, uses } = this.scope;
    const { http } = needs;
    const { connections, counters, sessionGuard } = this;
    const { runtime, delivery, sessions } = this.context;
    const { log, config, newId } = runtime;
    const reportRejection = createRejectionReporter({
      entrance,
      counters,
      http,
      log,
      admissionControl,
      emit,
    });
    const handshake = createHandshake({
      http,
      admissionControl,
      sessionGuard,
      log,
      config,
      newId,
      reportRejection,
      connections,
      replaceElsewhere: (session, conn, user) =>
        sessions.replaceElsewhere?.(session, toConnectionSecret(conn, user)),
      opened: (...opened) => this.addConnection(...opened),
    });
    const picoRouter = new PicoRouter({
      http,
      entrance,
      runtime,
      access: { admissionControl, sessionGuard },
      conversations: uses.conversations,
      media: uses.media,
      files: this.files,
      delivery: {
        isBusy: delivery.isBusy,
        body: this.body,
        deliver: this.deliver,
        stop: this.channel.stop,
        answer: this.channel.answer,
      },
      connections,
      sessions,
      ends: this.ends,
      reportRejection,
      openStream: (...stream) => this.addEventStream(...stream),
    });
    const router = (...given: Parameters<PicoRouter["handle"]>) => picoRouter.handle(...given);
    return { handshake, router };
  }

  open(): void {
    this.isServing = true;
  }

  /** @param stopMs - Milliseconds that the whole stop may take. */
  beginStop(stopMs: number): void {
    this.isServing = false;
    this.stopMs = stopMs;
  }

  /** Closes all clients in order. Resolves after the last connection has closed. */
  async drain(): Promise<void> {
    this.isServing = false;
    await this.shutdown.run(this.stopMs);
    await this.connections.empty();
  }

  close(): void {
    this.channel.close();
  }

  readonly onTokenRotated = ({
    name,
    version,
    graceS,
  }: TokenStoreEvents["token-store:rotated"]): void => {
    if (name === "pico") this.connections.endBefore(version, graceS);
  };

  /** Runs after any token has changed. */
  readonly redactSessions = (): Promise<void> =>
    redactSessions(this.connections.list(), this.sessionGuard);

  readonly onTokenRemoved = ({ name }: TokenStoreEvents["token-store:removed"]): void => {
    if (name !== "pico") return;
    this.connections.close("unauthorized", ({ tokenVersion }) => tokenVersion !== undefined);
  };

  /** Closes all connections if the channel is off; otherwise applies changed timeouts. */
  readonly onConfig = async (next: PicoServerConfig): Promise<void> => {
    await assertSettings(next, this.checks);
    this.scope.uses.conversations?.announce?.(JSON.stringify(next));
    if (next.enabled) this.connections.reschedule();
    else this.connections.close("going_away");
  };

  service(): PicoServer {
    const { connections, counters, admissionControl, sessions, sessionGuard, body } = this;
    const { config, needs } = this.scope;
    const { http } = needs;
    const { stop, answer, drained, questions, running } = this.channel;
    const channel = { deliver: this.deliver, stop, answer, drained, questions, running };
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
      protocol: (name) =>
        this.protocols.protocol(name, { sessions, channel, sessionGuard, body, config }),
      status: () => ({
        enabled: config().enabled,
        path: http.url("/pico"),
        listener: listener(),
        connections: connections.count(),
        maxConnections: config().max_connections,
        messagesIn: this.messagesIn,
        messagesOut: this.messagesOut,
      }),
    };
  }

  /** Delivers a message, and counts it. */
  private readonly deliver: ChannelHandle["deliver"] = (message, options) => {
    this.messagesIn += 1;
    return this.channel.deliver(message, options);
  };

  private createContext(isBusy: (session?: string) => boolean): ConnectionContext {
    const { clock, log, config, random } = this.scope;
    const { counters, sessions, budget, channel, connections } = this;
    const newId = (): string => Buffer.from(random(16)).toString("hex");
    const runtime: RuntimeContext = { clock, log, config, newId };
    return {
      runtime,
      delivery: {
        deliver: (message, callbacks, options) => {
          this.messagesIn += 1;
          channel.hand(message, callbacks, options);
        },
        typing: channel.typing,
        stop: channel.stop,
        answer: channel.answer,
        isBusy,
        running: channel.running,
        questions: channel.questions,
        isToken: this.sessionGuard.isToken,
        budget,
        turns: new FrameTurns(),
      },
      registry: {
        checkClock: connections.checkClock,
        reschedule: connections.reschedule,
        closed: (peer, event) => this.removePeer(peer, event),
      },
      sessions,
      files: this.files,
      counters,
      ends: this.ends,
      written: memoizeLast(({ session, cursor: { epoch, seq } }) =>
        sessions.note(session, { epoch, after: seq - 1, upTo: seq }, "written"),
      ),
    };
  }

  private addConnection(
    accepted: AcceptedHandshake,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): void {
    const { context, counters } = this;
    counters.handshakes["accepted"]! += 1;
    const connection = new Connection(context, context.runtime.newId(), accepted, admission);
    this.addPeer(connection, accepted.session, handshakeRequest, admission);
  }

  private addEventStream(
    stream: EventStreamRequest,
    response: ServerResponse,
    headers: HeaderMap,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): void {
    const { context } = this;
    const id = context.runtime.newId();
    const peer = new EventStream(context, { response, headers, id, ...stream, admission });
    this.addPeer(peer, stream.session, handshakeRequest, admission);
  }

  private addPeer(
    peer: Peer,
    session: string,
    { peer: { address }, request }: HandshakeRequest,
    { method, sender }: Admission,
  ): void {
    const { clock, emit } = this.scope;
    peer.known = connectionInfo({ session, address, method }, request.headers, clock.now());
    this.connections.add(peer);
    const { id: connection } = peer;
    emit("pico-server:connected", { connection, session, address, method, user: sender.id });
  }

  private removePeer(peer: Peer, event: PicoServerEvents["pico-server:disconnected"]): void {
    const { counters } = this;
    this.connections.remove(peer);
    const { in: bytesIn, out: bytesOut } = peer.byteCounts();
    counters.bytesIn += bytesIn;
    counters.bytesOut += bytesOut;
    countClose(counters, event);
    const { session = event.session } = peer.known ?? {};
    this.scope.emit("pico-server:disconnected", { ...event, session });
  }
}
