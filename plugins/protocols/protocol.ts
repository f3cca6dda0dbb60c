// Starts a plugin that serves a protocol: token, runs, routes, and the ends of its answers.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log, Scope } from "../../kernel/index.ts";
import { createRunningTimer } from "../../lib/running-time.ts";
import type { Channels, ChannelsEvents } from "../channels/index.ts";
import type { Http } from "../http/index.ts";
import type { Keys } from "../keys/index.ts";
import type { MediaFiles } from "../media/index.ts";
import type { PicoProtocol, PicoServer } from "../pico-server/index.ts";
import type { Settings } from "../settings/index.ts";
import type { TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { CommonConfig } from "./config.ts";
import { ClientCalls } from "./client-calls.ts";
import { Gate } from "./gate.ts";
import type { FileUrl } from "./media.ts";
import { refuse, stoppingRefusal } from "./errors.ts";
import { toAnswerId } from "./questions.ts";
import { Runs } from "./runs.ts";

/** The parts that the shapes of all protocols have. */
export type ProtocolShape<C> = {
  /** The validated section. */
  config: C;
  /** A replaced or removed token, and the deletion of a conversation, end responses. */
  listens: TokenStoreEvents &
    Pick<ChannelsEvents, "channels:answer-waits" | "channels:session-cleared">;
  /** The token store, the http plugin for the routes, the channel for messages, and the service
   *  that knows the application and reads the conversation. */
  needs: { tokens: Tokens; http: Http; picoServer: PicoServer; channels: Channels };
  /** The settings service, which can turn the protocol on while the kernel runs, and the files of
   *  messages, and named keys. */
  uses: { settings: Settings; media: MediaFiles; keys: Keys };
};

/** Options of a plugin that serves a protocol. */
export interface ProtocolPluginOptions {
  /**
   * Prefix of the environment variables that error messages name.
   *
   * @defaultValue `"SERVICE"`
   */
  readonly envPrefix?: string;
  /** Whether the protocol is on if its section does not say so. @defaultValue `true` */
  readonly enabled?: boolean;
}

interface ProtocolOptions {
  /** Name of the token, and of the protocol in messages. */
  readonly name: string;
  /** Name of a client for people. */
  readonly clientTitle: string;
  /** Base path of its addresses. */
  readonly path: string;
  /** The path below which clients upload files of any size. */
  readonly uploadPath?: string;
  /** Returns the path of a file of an answer. */
  readonly filePath: FileUrl;
  /** Prefix of the environment variables that error messages name. */
  readonly envPrefix: string;
  /** @param prefix - Undefined if the token store does not read the environment. */
  readonly missingToken: (prefix: string | undefined) => Error;
  /** Whether people whom the host names need no token, on pages of the same origin. */
  readonly admitsPages?: boolean;
}

type Mistakes = readonly (readonly [method: string, path: string])[];

interface RequestServer {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Shared by the routes of a protocol. */
export interface Protocol<C extends CommonConfig = CommonConfig> {
  /** Name of the protocol, and first part of the names of its own sessions. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly gate: Gate;
  readonly channel: PicoProtocol;
  readonly http: Http;
  /** Returns the base URL of the protocol, as the client of a request can reach it. */
  readonly addressFor: (request: IncomingMessage) => string;
  /** True if the protocol is served by another port. */
  readonly isMisplaced: (request: IncomingMessage) => boolean;
  /** True while messages can be delivered. */
  readonly isOpen: () => boolean;
  readonly config: () => C;
  readonly runs: Runs;
  readonly newId: () => string;
  readonly channels: Pick<Channels, "can" | "deliverAnswers" | "history">;
  /** The tool calls that have left. */
  readonly calls: ClientCalls;
  /** Files of messages; undefined if messages carry images only. */
  readonly media: MediaFiles | undefined;
  /** The path to which clients upload files; undefined if there is none. */
  readonly uploadPath: string | undefined;
  /** Returns the address of a file of an answer, on this server. */
  readonly fileUrl: FileUrl;
  /**
   * Begins to serve requests.
   *
   * @param mistakes - Paths outside the base path that clients with a wrong base URL use, with
   *   their method. They reach the server too, which explains the mistake.
   */
  serve(server: RequestServer, mistakes?: Mistakes): void;
  /** Returns the address of the page that answers a question. It needs a sign-in. */
  askAddress(request: IncomingMessage, session: string, id: string): string;
  /** Returns whether the protocol is on, and its base URL; undefined without an open port. */
  status(): { readonly enabled: boolean; readonly url: string | undefined };
}

/** Seconds in which the whole body must have arrived: it may contain images. */
const bodySeconds = 300;
/** A minimum rate applies to uploads instead. */
const uploadSeconds = 86_400;

/** Fails if the protocol is enabled without a token. */
export async function startProtocol<C extends CommonConfig>(
  scope: Scope<ProtocolShape<C>>,
  options: ProtocolOptions,
): Promise<Protocol<C>> {
  const { needs, clock, log, random, config, lifecycle } = scope;
  const { tokens, http, picoServer, channels } = needs;
  const { name, clientTitle, path, admitsPages = false } = options;
  await tokens.claim(name, { exposed: http.isPublic() });
  await assertToken(config(), tokens, options);
  let isServing = false;
  const channel = picoServer.protocol(name);
  const gateOptions = { http, tokens, clock, log, clientTitle, config, admitsPages };
  const newId = (): string => Buffer.from(random(16)).toString("hex");
  const calls = new ClientCalls({ channels, clock });
  const runs = new Runs({
    channel,
    channels,
    clock,
    after: createRunningTimer({ clock, after: scope.after }),
    log,
    calls,
    answerMs: () => config().answer_s * 1_000,
    maxRequests: () => config().max_requests,
  });
  endWithToken(scope, name, runs);
  scope.on("channels:session-cleared", ({ channel, session }) => {
    if (channel !== "pico") return;
    runs.clear(session);
    calls.clear(session);
  });
  scope.on("channels:answer-waits", ({ channel, session, id }) => {
    if (channel === "pico") runs.waits(session, toAnswerId(id));
  });
  scope.onConfig(async (next) => {
    await assertToken(next, tokens, options);
    if (!next.enabled) endAll(runs, "not_running", "The protocol was turned off.");
  });
  scope.on("kernel:stop-begun", () => void (isServing = false));
  scope.onReady(() => {
    isServing = true;
    return async () => {
      await channel.drained();
      runs.failAll(stoppingRefusal);
      runs.close();
    };
  });
  return {
    name,
    config,
    clock,
    log,
    runs,
    channel,
    http,
    newId,
    channels,
    calls,
    media: scope.uses.media,
    uploadPath: options.uploadPath,
    fileUrl: (id) => http.url(options.filePath(id)),
    gate: new Gate({ ...gateOptions, keys: scope.uses.keys, token: name }),
    isOpen: () => isServing && lifecycle.state() !== "unconfigured",
    serve: (server, mistakes = []) => serve(http, server, options, mistakes),
    addressFor: (request) => addressFor(http, request, path),
    askAddress(request, session, id) {
      const page = `/ask/${encodeURIComponent(session)}/${encodeURIComponent(id)}`;
      return http.publicUrl(page) ?? addressFor(http, request, page, "dashboard");
    },
    isMisplaced: (request) => hasOwnGateway(http) && http.listener(request) === "dashboard",
    status() {
      const { enabled } = config();
      const [base] = http.addresses("gateway");
      return { enabled, url: enabled && base ? new URL(http.url(path), base).href : undefined };
    },
  };
}

/** On the server of a host, all paths but those of the protocol belong to the host. */
function serve(
  http: Http,
  server: RequestServer,
  { path, uploadPath }: ProtocolOptions,
  mistakes: Mistakes,
): void {
  const handle = (request: IncomingMessage, response: ServerResponse): void =>
    void server.handle(request, response);
  const options = { anyAuthorization: true, bodySeconds };
  const isWhole = http.sharesOrigin() && http.url("/") === "/";
  const routes = [
    { path, options },
    ...(uploadPath
      ? [{ path: uploadPath, options: { ...options, bodySeconds: uploadSeconds } }]
      : []),
  ];
  for (const route of routes) {
    http.request(route.path, handle, { ...route.options, listener: "gateway" });
    if (!isWhole) http.request(route.path, handle, route.options);
  }
  if (isWhole) return;
  for (const [method, wrong] of mistakes)
    for (const listener of ["dashboard", "gateway"] as const)
      http.request(wrong, handle, { ...options, listener, methods: [method, "OPTIONS"] });
}

const hasOwnGateway = (http: Http): boolean =>
  http.addresses("gateway")[0]?.host !== http.addresses("dashboard")[0]?.host;

/** Returns the URL of a path, with the host name that the client has used. */
function addressFor(
  http: Http,
  request: IncomingMessage,
  path: string,
  listener: "gateway" | "dashboard" = "gateway",
): string {
  const { secure, host } = http.peer(request);
  const address = new URL(http.url(path), `${secure ? "https" : "http"}://${host}`);
  if (hasOwnGateway(http)) address.port = http.addresses(listener)[0]!.port;
  return address.href;
}

function endAll(runs: Runs, code: string, message: string): void {
  runs.failAll(() => refuse(code, message, { headers: { "Retry-After": "1" } }));
}

/** A replaced or removed token ends the answers that its clients receive. */
function endWithToken<C>(scope: Scope<ProtocolShape<C>>, token: string, runs: Runs): void {
  const end = (): void => endAll(runs, "invalid_api_key", "The token was replaced.");
  scope.on("token-store:rotated", ({ name, graceS }) => {
    if (name === token) scope.after((graceS ?? 0) * 1_000, end);
  });
  scope.on("token-store:removed", ({ name }) => {
    if (name === token) end();
  });
}

async function assertToken(
  { enabled }: CommonConfig,
  tokens: Pick<Tokens, "info" | "describe">,
  { name, envPrefix, missingToken }: ProtocolOptions,
): Promise<void> {
  if (!enabled || tokens.info(name).source !== "none") return;
  // Only a token store that reads the environment knows a variable.
  const { variable } = await tokens.describe(name);
  throw missingToken(variable === undefined ? undefined : envPrefix);
}
