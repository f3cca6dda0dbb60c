import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clearDeadSession, grantSetup, judgeCredential, signIn } from "./access.ts";
import { DOOR_BODY, loginBody, parseBody } from "./bodies.ts";
import { isForm, page, redirect, seen, type Door } from "./door.ts";
import { Refusal, refusals, type RefusalCode } from "./errors.ts";
import { withoutToken } from "./guard.ts";
import { isLink } from "./links.ts";
import { safeNext } from "./next.ts";
import { signInPage, type SignInFailure } from "./pages/index.ts";
import { asRefusal, refuse, wantsPage } from "./replies.ts";

type Query = Record<string, string | string[] | undefined>;
const one = (value: Query[string]): string | undefined =>
  typeof value === "string" ? value : undefined;

const shown = [
  "invalid_token",
  "rate_limited",
  "link_expired",
  "invalid_body",
  "origin_not_allowed",
  "session_ended",
] as const;
const isShown = (code: unknown): code is SignInFailure["code"] =>
  shown.some((known) => known === code);

/** `GET /login`, `POST /login`. */
export function signInRoutes(app: FastifyInstance, door: Door): void {
  app.get("/login", { config: { access: "open" } }, (request, reply) => {
    const { next, error, link } = request.query as Query;
    const oneTime = one(link);
    if (oneTime !== undefined && /^ott_[\w-]{1,100}$/.test(oneTime)) {
      return page(
        reply,
        200,
        signInPage({ ...site(door), link: oneTime, ...nextOf(one(next)), ways: door.ways() }),
      );
    }
    if (door.state() === "setup") return redirect(door, reply, 302, "/setup");
    if (seen(request).session) return redirect(door, reply, 303, safeNext(one(next)));
    clearDeadSession(door, request, reply);
    const failure = isShown(error) ? { error: withCountdown(door, request, error) } : {};
    return page(
      reply,
      200,
      signInPage({ ...site(door), ...failure, ...nextOf(one(next)), ways: door.ways() }),
    );
  });

  app.post(
    "/login",
    { config: { access: "open" }, bodyLimit: DOOR_BODY },
    async (request, reply) => {
      const form = isForm(request);
      const next = safeNext((request.body as { next?: unknown } | undefined)?.next);
      try {
        const { token } = parseBody(loginBody, request);
        const { peer, nullForm } = seen(request);
        const by = await judgeCredential(door, peer, token, { via: "form", foreign: nullForm });
        if (door.state() === "setup") {
          grantSetup(door, request, reply);
          if (form) return redirect(door, reply, 303, "/setup");
          throw new Refusal("setup_required", { status: 409, hint: door.http.url("/setup") });
        }
        const session = await signIn(door, request, reply, by);
        if (form) return redirect(door, reply, 303, next);
        return await reply.send({
          status: "ok",
          expiresAt: new Date(session.expiresAt).toISOString(),
        });
      } catch (error) {
        const refusal = asRefusal(error, door, "POST /login");
        if (!form || !isShown(refusal.code)) throw refusal;
        return refusedForm(door, request, reply, refusal, next);
      }
    },
  );
}

function refusedForm(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal,
  next: string,
): FastifyReply {
  const { retryAfterSeconds } = refusal.extra;
  const code = refusal.code as SignInFailure["code"];
  const error = { code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  const status = refusals[refusal.code][0];
  if (status === 401) void reply.header("www-authenticate", 'Bearer realm="launcher"');
  if (retryAfterSeconds !== undefined) void reply.header("retry-after", String(retryAfterSeconds));
  clearDeadSession(door, request, reply);
  return page(
    reply,
    status,
    signInPage({ ...site(door), error, ...nextOf(next), ways: door.ways() }),
  );
}

const site = (door: Door) => ({ url: door.http.url, assets: door.assets.prefix });
const nextOf = (next: string | undefined) => {
  const safe = safeNext(next);
  return safe === "/" ? {} : { next: safe };
};
function withCountdown(
  door: Door,
  request: FastifyRequest,
  code: SignInFailure["code"],
): SignInFailure {
  const seconds = code === "rate_limited" ? door.limiter.blockedFor(seen(request).peer.key) : 0;
  return seconds > 0 ? { code, retryAfterSeconds: seconds } : { code };
}

/** The token offered by `/?token=…`, when a person opened the address: not a picture, a prefetch or a HEAD. */
export function offeredToken(request: FastifyRequest): string | undefined {
  const given = (request.query as Query)["token"];
  if (Array.isArray(given))
    throw new Refusal("invalid_body", { message: '"token" is given twice.' });
  if (request.method !== "GET" || given === undefined || given.trim() === "") return undefined;
  const { "sec-fetch-dest": destination, "sec-purpose": purpose } = request.headers;
  if (destination !== undefined && destination !== "document") return undefined;
  return purpose !== undefined && /prefetch/i.test(String(purpose)) ? undefined : given;
}

/** A page of another site opened the address, by a click or by itself. */
function comesFromElsewhere({ headers }: FastifyRequest): boolean {
  const site = headers["sec-fetch-site"];
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** Signs in by `/?token=` and leads to `next`, or to the same address without the token. */
export async function signInByQuery(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
): Promise<FastifyReply> {
  const next = one((request.query as Query)["next"]);
  const clean = next === undefined ? withoutToken(request.url) : safeNext(next);
  const inSetup = (): boolean => door.state() === "setup";
  if (!inSetup() && seen(request).session) return redirect(door, reply, 303, clean);
  try {
    const from = { via: "query", foreign: comesFromElsewhere(request) } as const;
    const by = await judgeCredential(door, seen(request).peer, value, from);
    if (inSetup()) {
      grantSetup(door, request, reply);
      return redirect(door, reply, 303, "/setup");
    }
    await signIn(door, request, reply, by);
    return redirect(door, reply, 303, clean);
  } catch (error) {
    const refusal = asRefusal(error, door, "GET /?token=");
    if (
      !wantsPage(request) ||
      (refusal.code !== "invalid_token" && refusal.code !== "rate_limited")
    ) {
      return refuse(door, request, reply, refusal);
    }
    const wrong: RefusalCode | "link_expired" = isLink(value.trim())
      ? "link_expired"
      : refusal.code;
    if (!inSetup()) return redirect(door, reply, 302, `/login?error=${wrong}`);
    return redirect(
      door,
      reply,
      302,
      `/setup?error=${wrong === "rate_limited" ? wrong : "invalid_code"}`,
    );
  }
}
