// The lower bound of a sign-in with Fastify: one route that compares the token in constant time.
import { createHash, timingSafeEqual } from "node:crypto";
import fastify from "fastify";
import { launcherToken } from "../settings.mjs";

const digest = (/** @type {string} */ text) => createHash("sha256").update(text).digest();
const expected = digest(launcherToken);
const app = fastify();
app.post("/login", async (request, reply) => {
  const { token } = /** @type {{ token: string }} */ (request.body);
  if (!timingSafeEqual(digest(token), expected))
    return reply.code(401).send({ error: "invalid_token" });
  return { status: "ok" };
});
await app.listen({ port: Number(process.argv[2]), host: "127.0.0.1" });
