import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createKernel, type AnyPlugin, type Plugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { http, type HostIdentity } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../plugins/token-store/index.ts";
import {
  fetchJson,
  connectClient,
  sendRaw,
  token,
  wsLines,
  type FetchOptions,
} from "./pico-server-harness.ts";

export interface HostOptions {
  /** The session check of the host. `cookie`: the name in the cookie of the request. */
  readonly identify: (cookie: string, request: IncomingMessage) => unknown;
  readonly app?: Application;
  readonly config?: object;
  /** Started before `channels`. */
  readonly first?: AnyPlugin;
  /** Channel token. @defaultValue `token` of the harness */
  readonly pico?: string;
}

const nothing: AnyPlugin = { name: "nothing", api: 1, start: () => undefined };

/** An application that embeds the channel and identifies people by the cookie `user=NAME`. */
export async function identifiedHost(options: HostOptions) {
  const { identify, app = () => undefined, config, pico = token, first = nothing } = options;
  const server = createServer();
  const { log, lines } = createCapturedLog();
  const facts: object[] = [];
  const limits = { message_rate: 0, message_burst: 0, max_connections: 1_000 };
  const kernel = createKernel(
    [
      tokenStore(memory({ pico })),
      first as Plugin,
      channels(),
      http({
        server,
        identify: (request) => {
          const user = /(?:^|; )user=([^;]*)/.exec(request.headers.cookie ?? "")?.[1];
          return (user && identify(user, request)) as HostIdentity | undefined;
        },
      }),
      picoServer(),
      application(app),
    ],
    {
      log,
      config: { "channels.pico": { enabled: true, drain_timeout: 0, ...limits, ...config } },
    },
  );
  for (const type of ["pico-server:connected", "pico-server:refused"] as const)
    kernel.on(type, (fact) => void facts.push({ type, ...fact }));
  kernel.on("channels:message-received", (fact) => void facts.push(fact));
  await kernel.start();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const headersOf = (user: string) => ({
    cookie: `user=${user}`,
    origin: `http://127.0.0.1:${port}`,
  });
  return {
    kernel,
    services: kernel.services,
    port,
    lines,
    facts,
    /** Opens a WebSocket as a page of this user. */
    page: (user: string, path = "/pico") =>
      connectClient(port, path, { token: null, headers: headersOf(user) }),
    /** Sends the handshake of a page of this user. */
    sendRaw: (user: string, path: string) =>
      sendRaw(port, path, {
        lines: [
          ...wsLines,
          `Host: 127.0.0.1:${port}`,
          ...Object.entries(headersOf(user)).map(([name, value]) => `${name}: ${value}`),
        ],
      }),
    /** Sends a request as a page of this user. `origin: ""` leaves the header out. */
    ask(user: string, path: string, options: FetchOptions = {}) {
      const headers = { authorization: "", ...headersOf(user), ...options.headers };
      if (headers.origin === "") delete (headers as { origin?: string }).origin;
      return fetchJson(port, path, { ...options, headers });
    },
    /** Connects a program with the channel token. */
    program: (path = "/pico") => connectClient(port, path),
    async [Symbol.asyncDispose]() {
      await kernel.stop();
      server.closeAllConnections();
      server.close();
    },
  };
}
export type IdentifiedHost = Awaited<ReturnType<typeof identifiedHost>>;
