import { freePort, launcherToken, makeHome, startLauncher, startPeer } from "./launcher.mjs";
import { generate } from "./load.mjs";
import { interleave, ratio } from "./report.mjs";

/** Right sign-ins over kept-alive connections: the token is compared, a session begins, a signed cookie is set. */
export async function measureLogins() {
  const { home, remove } = await makeHome();
  const [ourPort, barePort, dutifulPort] = [await freePort(), await freePort(), await freePort()];
  const servers = [
    startLauncher(home, ourPort, { SERVICE_LAUNCHER_TOKEN: launcherToken }),
    startPeer("fastify-login", barePort),
    startPeer("fastify-session", dutifulPort),
  ];
  try {
    for (const [at, port] of [ourPort, barePort, dutifulPort].entries()) await servers[at]?.listening(port);
    const load = (/** @type {number} */ port) => () =>
      generate("requests", { port, head: request(port), connections: 16, seconds: 3 });
    const loads = [load(ourPort), load(barePort), load(dutifulPort)];
    const [ours = [], bare = [], dutiful = []] = await interleave(5, loads);
    const against = `${ratio(ours, bare)} of bare, ${ratio(ours, dutiful)} of cookie and log`;
    return [
      { what: "sign-ins, bare Fastify route", unit: "/s", values: bare },
      { what: "sign-ins, Fastify with cookie and log", unit: "/s", values: dutiful },
      { what: "sign-ins, POST /login", unit: "/s", values: ours, against, aim: "0.7x of bare" },
    ];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await remove();
  }
}

/** @param {number} port */
function request(port) {
  const body = JSON.stringify({ token: launcherToken });
  const fields = [
    "POST /login HTTP/1.1", `Host: 127.0.0.1:${port}`, "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  return `${fields.join("\r\n")}\r\n\r\n${body}`;
}
