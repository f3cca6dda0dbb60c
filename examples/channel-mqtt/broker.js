// @ts-check
// Starts mosquitto for the tests, with users and optionally a certificate, and connects clients.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createQueue } from "doorward/testing";
import mqtt from "mqtt";

export const password = "correct-horse-battery-staple";

/** @param {{ tls?: boolean }} [options] */
export async function startBroker({ tls = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "mosquitto-"));
  const at = (/** @type {string} */ name) => join(folder, name);
  const port = await freePort();
  writeFileSync(at("users"), "", { mode: 0o600 });
  for (const user of ["doorward", "ann"])
    execFileSync("mosquitto_passwd", ["-b", at("users"), user, password]);
  if (tls) certificate(at);
  writeFileSync(
    at("mosquitto.conf"),
    [
      ...(process.getuid?.() === 0 ? ["user root"] : []),
      `listener ${port} 127.0.0.1`,
      "allow_anonymous false",
      `password_file ${at("users")}`,
      "persistence true",
      `persistence_location ${folder}/`,
      "max_keepalive 60",
      ...(tls ? [`certfile ${at("cert.pem")}`, `keyfile ${at("key.pem")}`] : []),
      "",
    ].join("\n"),
  );

  let child = spawn("mosquitto", ["-c", at("mosquitto.conf")], { stdio: "ignore" });
  const broker = {
    port,
    url: `${tls ? "mqtts://localhost" : "mqtt://127.0.0.1"}:${port}`,
    ca: tls ? at("ca.pem") : undefined,
    /** Stops the broker; it saves its sessions first. */
    async stop() {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
    async start() {
      child = spawn("mosquitto", ["-c", at("mosquitto.conf")], { stdio: "ignore" });
      await listens(port);
    },
    async remove() {
      await broker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await listens(port);
  return broker;
}

/** Creates a certificate for localhost and the authority that signs it. @param {(name: string) => string} at */
function certificate(at) {
  const openssl = (/** @type {string[]} */ ...args) =>
    void execFileSync("openssl", args, { stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-subj",
    "/CN=test authority",
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
  );
  openssl(
    "req",
    "-x509",
    ...key,
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-keyout",
    at("key.pem"),
    "-out",
    at("cert.pem"),
  );
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

/** @param {number} port */
async function listens(port) {
  for (const until = Date.now() + 10_000; Date.now() < until;) {
    const socket = connectSocket(port, "127.0.0.1");
    const isThere = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
  throw new Error("mosquitto does not listen");
}

/** Connects a client to a session; the client queues messages while the broker is away.
 * @param {{ url: string, ca: string | undefined }} broker @param {string} session @param {string} [prefix] */
export async function joinSession({ url, ca }, session, prefix = "doorward") {
  const client = await mqtt.connectAsync(url, {
    username: "ann",
    password,
    clientId: `ann-${session}-${process.pid}`,
    clean: false,
    reconnectPeriod: 50,
    ...(ca === undefined ? {} : { ca: readFileSync(ca) }),
  });
  client.on("error", () => {});
  const frames = createQueue(20_000);
  client.on("message", (topic, payload) => {
    const text = payload.toString();
    frames.push(topic.endsWith("/status") ? text : JSON.parse(text));
  });
  await client.subscribeAsync([`${prefix}/${session}/out`], { qos: 1 });
  return {
    session,
    say: (/** @type {string | object} */ message) =>
      client.publishAsync(
        `${prefix}/${session}/in`,
        typeof message === "string" ? message : JSON.stringify(message),
        { qos: 1 },
      ),
    /** @returns {Promise<any>} */
    next: () => frames.next("a frame"),
    watchStatus: () => client.subscribeAsync(`${prefix}/status`, { qos: 1 }),
    leave: () => client.endAsync(true),
  };
}
