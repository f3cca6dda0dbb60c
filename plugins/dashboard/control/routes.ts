import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { revokeSession, sessionList } from "../api/sessions.ts";
import { requireClaimedToken, rotateToken, tokensView } from "../api/tokens.ts";
import { controlTokenBody, controlUnblockBody, type ControlTokenBody } from "../request.ts";
import { sectionsOf, fileWarnings } from "../api/status.ts";
import { type DashboardContext } from "../context.ts";
import { HttpError, httpErrors } from "../errors.ts";
import { ownerLink } from "../auth/owner-links.ts";
import { toHttpError } from "../reply.ts";

interface ControlRequest {
  /** What follows the last slash of a path that names one thing. */
  readonly id: string;
  readonly body: unknown;
}
type ControlHandler = (door: DashboardContext, asked: ControlRequest) => unknown;

/** What the command line may ask; no sign-in: whoever opened the socket is the owner. */
const controlHandlers: Readonly<Record<string, ControlHandler>> = {
  "GET /local/status": async (door) => ({
    state: door.state(),
    version: door.version,
    startedAt: door.startedAt,
    addresses: door.http.addresses().map(({ href }) => href),
    channel: door.picoServer?.status(),
    channelUrl: door.picoServer?.url(),
    sessions: door.sessions.list().length,
    plugins: door.plugins(),
    program: door.program?.status(),
    refusedEdits: fileWarnings(await sectionsOf(door)).map(({ text }) => text),
  }),
  "GET /local/tokens": tokensView,
  "POST /local/token/show": (door, { body }) => {
    const { name } = tokenOf(body);
    const token =
      requireClaimedToken(door, name).version > 0 ? door.tokenSecrets.reveal(name) : undefined;
    if (token === undefined)
      throw new HttpError("not_found", { message: `There is no ${name} token.` });
    door.log.info({ name }, `the ${name} token was shown on the command line`);
    return { name, token, source: door.tokens.info(name).source };
  },
  "POST /local/token/replace": async (door, { body }) => {
    const { name, token, grace } = tokenOf(body);
    requireClaimedToken(door, name);
    const { version: _, ...rotated } = await rotateToken(door, { which: name, token, grace });
    return { name, ...rotated };
  },
  "POST /local/links": (door) => {
    const [base] = door.http.addresses();
    if (!base) throw new HttpError("unavailable");
    const { path, copyPath, ...link } = ownerLink(door);
    return { url: new URL(path, base).href, copyUrl: new URL(copyPath, base).href, ...link };
  },
  "GET /local/sessions": (door) => ({ sessions: sessionList(door) }),
  "DELETE /local/sessions/:id": async (door, { id }) => {
    revokeSession(door, id);
    await door.keeper.settled();
    return { status: "ok" };
  },
  "POST /local/unblock": (door, { body }) => {
    const parsed = controlUnblockBody.safeParse(body ?? {});
    if (!parsed.success) throw new HttpError("invalid_body");
    const { address } = parsed.data;
    door.http.unblock(address);
    door.log.info({ ip: address ?? "all" }, "unblocked on the command line");
    return { status: "ok" };
  },
  "POST /local/doctor": async (door) => {
    if (!door.doctor) throw new HttpError("not_found");
    return { checks: await door.doctor() };
  },
};

/** The JSON body of a request; `undefined` when there is none. Rejects over 64 KiB and for what is no JSON. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > 65_536) throw new SyntaxError("too large");
  }
  return text === "" ? undefined : JSON.parse(text);
}

function tokenOf(body: unknown): ControlTokenBody {
  const parsed = controlTokenBody.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new HttpError("invalid_body");
}

export function controlRoutes(door: DashboardContext): RequestListener {
  async function answer(request: IncomingMessage): Promise<unknown> {
    const [path = ""] = (request.url ?? "").split("?");
    const [, collection, id = ""] = /^(\/local\/sessions\/)([\w-]+)$/.exec(path) ?? [];
    const route =
      controlHandlers[`${request.method} ${collection === undefined ? path : `${collection}:id`}`];
    if (!route) throw new HttpError("not_found");
    const body = await bodyOf(request).catch(() => {
      throw new HttpError("invalid_body");
    });
    return route(door, { id, body });
  }

  return (request: IncomingMessage, reply: ServerResponse): void => {
    const send = (status: number, body: unknown): void => {
      const type = "application/json; charset=utf-8";
      reply.writeHead(status, {
        "content-type": type,
        "cache-control": "no-store",
        connection: "close",
      });
      reply.end(JSON.stringify(body));
    };
    answer(request).then(
      (body) => send(200, body),
      (error: unknown) => {
        const { code, message, extra } = toHttpError(
          error,
          door,
          `local ${request.method} ${request.url}`,
        );
        send(extra.status ?? httpErrors[code][0], { error: code, message });
      },
    );
  };
}
