import type { FastifyInstance, FastifyRequest } from "fastify";
import { codeOf } from "../../kernel/index.ts";
import { judgeToken } from "./access.ts";
import { API_BODY, parseBody, settingsBody } from "./bodies.ts";
import { seen, type Door } from "./door.ts";
import { Refusal } from "./errors.ts";

/** Fields that widen who gets in: the launcher token is typed again for them. */
const GUARDED = new Set(["allow_origins", "allow_token_query"]);

/** `PUT /api/channels/pico`: changes settings of the channel; turning it on makes its token when there is none. */
export function channelRoutes(app: FastifyInstance, door: Door): void {
  app.put("/api/channels/pico", { bodyLimit: API_BODY }, async (request, reply) => {
    const { current, ...patch } = parseBody(settingsBody, request);
    const etag = request.headers["if-match"];
    const { settings, picoServer } = door;
    if (!picoServer) throw new Refusal("not_found", { message: "This service was started without a pico channel." });
    if (!settings) throw new Refusal("field_not_editable", { message: "Settings cannot be changed here." });
    if (etag === undefined) throw new Refusal("etag_required");
    if (Object.keys(patch).some((key) => GUARDED.has(key))) await requireCurrent(door, request, current);
    const update = () => settings.update("channels.pico", patch, etag.replace(/^(?:W\/)?"(.*)"$/, "$1"));
    const outcome = await update().catch(async (error: unknown) => {
      // The one thing it lacked: everything else about the change is found good by then.
      if (codeOf(error) !== "PICO_TOKEN_MISSING") throw error;
      await door.tokenSecrets.replace("pico", { expect: door.tokens.info("pico").version });
      door.log.info({}, "a pico token was made and stored");
      return update();
    });
    return reply.header("cache-control", "no-store").send(outcome);
  });

  app.post("/api/signin-links", { bodyLimit: API_BODY }, (request, reply) => {
    const { link, expiresAt } = door.links.mint(door.tokens.info("launcher").version);
    const { peer } = seen(request);
    const url = `${peer.secure ? "https" : "http"}://${peer.host}${door.http.url(`/login?link=${link}`)}`;
    return reply.header("cache-control", "no-store").send({ url, expiresAt: new Date(expiresAt).toISOString() });
  });
}

async function requireCurrent(door: Door, request: FastifyRequest, current: unknown): Promise<void> {
  if (typeof current !== "string" || current.trim() === "") {
    throw new Refusal("invalid_body", { message: 'Type the launcher token again: the field "current" is missing.' });
  }
  await judgeToken(door, seen(request).peer, current, { via: "current" }).catch((error: unknown) => {
    const isWrong = error instanceof Refusal && error.code === "invalid_token";
    throw isWrong ? new Refusal("invalid_token", { status: 403 }) : error;
  });
}
