import type { FastifyInstance } from "fastify";
import { codeOf } from "../../../kernel/index.ts";
import type { TokenInfo } from "../../token-store/index.ts";
import { signIn } from "../auth/cookies.ts";
import { maxBodyBytes, parseBody, revealBody, rotateBody, requestState } from "../request.ts";
import { type AuthContext, type DashboardContext } from "../context.ts";
import { HttpError } from "../errors.ts";
import { requireTokenConfirmation } from "../auth/credentials.ts";
import type { RotatedView, TokenRow, TokensView } from "./views.ts";

const listedFirst = ["launcher", "pico", "pico_client"];

/** The launcher's and the built-in channels' tokens, then those of other channels, then `metrics`. */
export function tokenNames({ tokens }: AuthContext): string[] {
  const claimed = tokens.names();
  const others = claimed.filter((name) => !listedFirst.includes(name) && name !== "metrics");
  return [...listedFirst, ...others, "metrics"].filter((name) => claimed.includes(name));
}

/** The tokens that some plugin has claimed. Most deployments have none for `metrics`, and need none. */
export async function tokensView(auth: AuthContext): Promise<TokensView> {
  const rows = await Promise.all(
    tokenNames(auth).map(async (name): Promise<TokenRow> => {
      const { version: _, ...row } = await auth.tokens.describe(name);
      return row;
    }),
  );
  return { tokens: rows.filter(({ name, source }) => name !== "metrics" || source !== "none") };
}

export interface Rotation {
  /** A claimed token's name. */
  readonly which: string;
  /** Absent: a fresh one is generated. */
  readonly token?: string | undefined;
  /** Seconds over which connections of the old token are sent off. */
  readonly grace?: number | undefined;
}

interface RotatedToken {
  readonly token: string;
  readonly source: string;
  readonly version: number;
}

/** Replaces a token and answers the new value, once. Rejects what `tokenSecrets.replace` rejects. */
export async function rotateToken(
  context: DashboardContext,
  { which, token, grace = 0 }: Rotation,
): Promise<RotatedToken> {
  const { version: expect } = requireClaimedToken(context.auth, which);
  const value = token?.trim();
  const { version, source } = await context.services.tokenSecrets.replace(which, {
    expect,
    graceS: which === "pico" ? grace : 0,
    ...(value ? { value } : {}),
  });
  context.runtime.log.info({ name: which, source }, `the ${which} token was replaced`);
  return { token: context.services.tokenSecrets.reveal(which) ?? "", source, version };
}

/** Version and source of a token. Rejects `not_found` for one that no plugin has claimed. */
export function requireClaimedToken({ tokens }: AuthContext, name: string): TokenInfo {
  try {
    return tokens.info(name);
  } catch (error) {
    if (codeOf(error) !== "token_unclaimed") throw error;
    throw new HttpError("not_found", {
      message: `This service was started without a ${name} token.`,
    });
  }
}

/** `GET /api/tokens`, `POST /api/token/rotate`, `POST /api/token/reveal`. */
export function tokenRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/tokens", async (_request, reply) =>
    reply.header("cache-control", "no-store").send(await tokensView(context.auth)),
  );

  app.post("/api/token/rotate", { bodyLimit: maxBodyBytes }, async (request, reply) => {
    const { current, ...rotation } = parseBody(rotateBody, request);
    await requireTokenConfirmation(context, request, current);
    const { session } = requestState(request);
    const { version, ...rotated } = await rotateToken(context, rotation);
    // Every session has ended with the old token, the asking one too: it gets another, unless it was signed out before.
    const isOwn = rotation.which === "launcher" && session?.endedBy === "rotated";
    if (isOwn) await signIn(context, request, reply, { version, via: "form" });
    const view: RotatedView = { which: rotation.which, ...rotated };
    return reply.header("cache-control", "no-store").send(view);
  });

  app.post("/api/token/reveal", { bodyLimit: maxBodyBytes }, async (request, reply) => {
    const { which, current } = parseBody(revealBody, request);
    await requireTokenConfirmation(context, request, current);
    requireClaimedToken(context.auth, which);
    const token = context.services.tokenSecrets.reveal(which);
    if (token === undefined)
      throw new HttpError("not_found", { message: `There is no ${which} token.` });
    context.runtime.log.info(
      { name: which, ip: requestState(request).peer.address },
      `the ${which} token was shown in the dashboard`,
    );
    return reply.header("cache-control", "no-store").send({ token });
  });
}
