// Creates the parts of the pico channel, connects them, and offers the `picoServer` service.
import type { Plugin } from "../../kernel/index.ts";
import type { ChannelHandle } from "../channels/index.ts";
import type { LogListeners, SessionLog } from "../conversations/index.ts";
import { MemorySessionLog } from "../conversations/log/index.ts";
import type { TokenStoreEvents } from "../token-store/index.ts";
import { AdmittedPeers } from "./admitted-peers.ts";
import { createChannelService } from "./channel-service.ts";
import type { PicoServerConfig } from "./config.ts";
import type { ConnectionContext, RuntimeContext } from "./connection/context.ts";
import { MessageFiles, mediaPath } from "./session/message-files.ts";
import { createMemoryBudget, type MemoryBudget } from "./connection/memory-budget.ts";
import { createBodyMemory, type BodyMemory } from "./http/body-memory.ts";
import {
  createRegistry,
  toConnectionSecret,
  type ConnectionRegistry,
  type Peer,
} from "./connection/registry.ts";
import { messageRateOf } from "./connection/rate-limit.ts";
import { memoizeLast } from "./frame-encoding.ts";
import { createAdmissionControl, type AdmissionControl } from "./handshake/admission.ts";
import { createHandshake } from "./handshake/handshake.ts";
import { createRejectionReporter } from "./handshake/rejection.ts";
import { createSessionGuard, redactSessions, type SessionGuard } from "./session/session-guard.ts";
import { createRouter } from "./http/router.ts";
import { countClose, createCounters } from "./metrics.ts";
import type { PicoServer, PicoServerEvents, PicoServerShape } from "./service.ts";
import { PicoChannelAdapter, RecentEnds } from "./session/channel-adapter.ts";
import { ProtocolHub } from "./protocol-hub.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { watchStore } from "./store-watch.ts";
import { assertSettings, type CheckDependencies } from "./startup-checks.ts";

type ChannelScope = Pick<
  Parameters<Plugin<PicoServerShape>["start"]>[0],
  "needs" | "uses" | "clock" | "log" | "config" | "emit" | "random" | "after" | "lifecycle"
>;

const upgradePaths = ["/pico", "/pico/", "/pico/ws", "/pico/ws/"];
/** Seconds that a posted message may take to arrive: it may contain images. */
const messageBodyTimeoutS = 300;
/** Seconds that a file may take to arrive: the slowest allowed rate ends it earlier. */
const fileBodyTimeoutS = 86_400;
/** Smallest memory budget for unaccepted messages. Two messages of `max_payload` always fit. */
const minBudget = 256 * 1024 * 1024;

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
  private readonly context: ConnectionContext;
  private readonly files: MessageFiles;
  private readonly sessionGuard: SessionGuard;
  private readonly peers: AdmittedPeers;
  private readonly protocols = new ProtocolHub();
  private isServing = false;
  private stopMs = 0;
  private messagesIn = 0;
  private messagesOut = 0;

  constructor(scope: ChannelScope, checks: CheckDependencies) {
    const { needs, uses, clock, log, config, random, after, lifecycle, emit } = scope;
    const { tokens, http, channels } = needs;
    this.scope = scope;
    this.checks = checks;
    const reconnectRate = (): number => config().reconnect_rate;
    this.connections = createRegistry({ clock, after, random, reconnectRate });
    const { connections, counters } = this;
    this.peers = new AdmittedPeers({ clock, emit, connections, counters });
    const maxMemory = (): number => Math.max(minBudget, 2 * config().max_payload);
    this.budget = createMemoryBudget(maxMemory);
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
        }),
      ),
    );
    const isBusy = (session?: string): boolean => this.channel.isBusy(session);
    const { stopTimes } = this.channel;
    this.shutdown = createShutdown({ connections, config, log, isBusy, stopTimes });
    this.admissionControl = createAdmissionControl({
      http,
      tokens,
      limiter: http.limiter(),
      config,
      log,
      isOpen: () => this.isServing && lifecycle.state() !== "unconfigured",
      isStoreAway: watchStore(scope, this.connections),
      retryAfterSeconds: this.shutdown.retryAfterSeconds,
    });
    this.sessionGuard = createSessionGuard(tokens);
    this.files = new MessageFiles(uses.media, (path) => http.url(path));
    this.context = this.createContext(isBusy);
  }

  registerRoutes(): void {
    const { emit, needs, uses } = this.scope;
    const { http } = needs;
    const { connections, admissionControl, counters, sessionGuard } = this;
    const { runtime, delivery, sessions } = this.context;
    const { log, config, newId } = runtime;
    const reportRejection = createRejectionReporter({
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
      opened: (...opened) => this.peers.addConnection(this.context, ...opened),
    });
    const router = createRouter({
      http,
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
      openStream: (...stream) => this.peers.addEventStream(this.context, ...stream),
    });
    const route = { listener: "gateway", anyAuthorization: true } as const;
    // Pages of the dashboard connect here when the channels have their own listener.
    const pageRoute = { ...route, listener: "dashboard" } as const;
    const bodySeconds = messageBodyTimeoutS;
    http.request("/pico", router, route);
    http.request("/pico/messages", router, { ...route, bodySeconds });
    http.request("/pico/messages", router, { ...pageRoute, bodySeconds });
    const files = { ...route, bodySeconds: fileBodyTimeoutS };
    if (uses.media) http.request("/pico/media", router, files);
    for (const path of ["/pico/answer", "/pico/events", "/pico/stop"])
      http.request(path, router, pageRoute);
    for (const path of upgradePaths) {
      http.upgrade(path, handshake, route);
      http.upgrade(path, handshake, pageRoute);
    }
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
    const { needs, config } = this.scope;
    const { stop, answer, drained } = this.channel;
    const channel = { deliver: this.deliver, stop, answer, drained };
    return createChannelService({
      http: needs.http,
      config,
      connections,
      counters,
      admissionControl,
      messages: () => ({ messagesIn: this.messagesIn, messagesOut: this.messagesOut }),
      protocol: (name) =>
        this.protocols.protocol(name, { sessions, channel, sessionGuard, body, config }),
    });
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
        isToken: this.sessionGuard.isToken,
        budget,
        messageRate: messageRateOf(config),
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
