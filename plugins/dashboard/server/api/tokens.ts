/** Endpoints that list, rotate and show tokens. @module */
import type { FastifyInstance } from "fastify";
import { codeOf } from "../../../../kernel/index.ts";
import type { TokenInfo } from "../../../token-store/index.ts";
import { signIn } from "../auth/cookies.ts";
import { parseBody, revealBody, rotateBody, requestState } from "../request.ts";
import { type AuthContext, type DashboardContext } from "../context.ts";
import { refuse } from "../errors.ts";
import { requireTokenConfirmation } from "../auth/credentials.ts";
import { protocolTokens } from "../../shared/protocols.ts";
import type { RotatedView, TokenRow, TokensView } from "../../shared/views.ts";

const listedFirst = ["launcher", "pico", "pico_client", ...protocolTokens];

/** @returns Claimed token names: launcher, built-in channels, other channels, then `metrics`. */
export function tokenNames({ tokens }: AuthContext): string[] {
  const claimed = tokens.names();
  const others = claimed.filter((name) => !listedFirst.includes(name) && name !== "metrics");
  return [...listedFirst, ...others, "metrics"].filter((name) => claimed.includes(name));
}

/** @returns The claimed tokens. An absent metrics token is left out: most deployments need none. */
export async function tokensView(auth: AuthContext): Promise<TokensView> {
  const rows = await Promise.all(
    tokenNames(auth).map(async (name): Promise<TokenRow> => {
      const { version: _, ...row } = await auth.tokens.describe(name);
      return row;
    }),
  );
  return { tokens: rows.filter(({ name, source }) => name !== "metrics" || source !== "none") };
}

interface Rotation {
  /** Name of a claimed token. */
  readonly which: string;
  /** The new value. Undefined generates one. */
  readonly token?: string | undefined;
  /** Seconds over which connections that use the old token are closed. */
  readonly grace?: number | undefined;
}

/**
 * Rotates a token.
 *
 * @returns The new value, to be shown once.
 * @throws not_found if no plugin has claimed the token, or an error of `tokenSecrets.replace`.
 */
export async function rotateToken(
  context: DashboardContext,
  { which, token, grace = 0 }: Rotation,
) {
  const { version: expect } = requireClaimedToken(context.auth, which);
  const value = token?.trim();
  const { version, source } = await context.services.tokenSecrets.replace(which, {
    expect,
    graceS: which === "pico" ? grace : 0,
    ...(value ? { value } : {}),
  });
  context.runtime.log.info({ name: which, source }, `the ${which} token was rotated`);
  return { token: context.services.tokenSecrets.reveal(which) ?? "", source, version };
}

/**
 * @returns Version and source of a token.
 * @throws not_found if no plugin has claimed the token.
 */
export function requireClaimedToken({ tokens }: AuthContext, name: string): TokenInfo {
  try {
    return tokens.info(name);
  } catch (error) {
    if (codeOf(error) !== "token_unclaimed") throw error;
    throw refuse("not_found", {
      message: `No loaded plugin uses a ${name} token.`,
    });
  }
}

/** Adds `GET /api/tokens`, `POST /api/token/rotate` and `POST /api/token/reveal`. */
export function tokenRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/tokens", async (_request, reply) => reply.send(await tokensView(context.auth)));

  app.post("/api/token/rotate", async (request, reply) => {
    const { current, ...rotation } = parseBody(rotateBody, request);
    await requireTokenConfirmation(context, request, current);
    const { session } = requestState(request);
    const { version, ...rotated } = await rotateToken(context, rotation);
    // The rotation has ended every session. The requesting browser gets a new one, unless it signed
    // out before.
    const isRequester = rotation.which === "launcher" && session?.endedBy === "rotated";
    if (isRequester) await signIn(context, request, reply, { version, via: "form" });
    const view: RotatedView = { which: rotation.which, ...rotated };
    return reply.send(view);
  });

  app.post("/api/token/reveal", async (request, reply) => {
    const { which, current } = parseBody(revealBody, request);
    await requireTokenConfirmation(context, request, current);
    requireClaimedToken(context.auth, which);
    const token = context.services.tokenSecrets.reveal(which);
    if (token === undefined) throw refuse("not_found", { message: `There is no ${which} token.` });
    context.runtime.log.info(
      { name: which, ip: requestState(request).peer.address },
      `the ${which} token was shown in the dashboard`,
    );
    return reply.send({ token });
  });
}
