// A complete sign-in with Fastify: a random session id in a signed cookie, and a line that is written
// synchronously to a log file and to the terminal.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import path from "node:path";
import cookie from "@fastify/cookie";
import fastify from "fastify";
import { pino } from "pino";
import { launcherToken } from "../settings.mjs";

const digest = (/** @type {string} */ text) => createHash("sha256").update(text).digest();
const expected = digest(launcherToken);
const file = path.join(process.env["SERVICE_HOME"] ?? ".", "sign-ins.log");
const outputs = [file, 2].map((dest) => pino.destination({ dest, sync: true }));
const log = pino({ base: null }, pino.multistream(outputs));
const app = fastify();
await app.register(cookie, { secret: randomBytes(32).toString("hex") });
app.post("/login", async (request, reply) => {
  const { token } = /** @type {{ token: string }} */ (request.body);
  if (!timingSafeEqual(digest(token), expected))
    return reply.code(401).send({ error: "invalid_token" });
  const session = randomBytes(16).toString("base64url");
  log.info({ session: session.slice(0, 8), ip: request.ip }, "signed in");
  const options = /** @type {const} */ ({
    signed: true,
    httpOnly: true,
    sameSite: "lax",
    path: "/",
    maxAge: 604_800,
  });
  void reply.setCookie("session", session, options);
  return { status: "ok" };
});
await app.listen({ port: Number(process.argv[2]), host: "127.0.0.1" });
