import { freePort, launcherToken, makeHome, startLauncher, startPeer } from "./launcher.mjs";
import { generate } from "./load.mjs";
import { interleave, ratio } from "./report.mjs";

/** Right sign-ins over kept-alive connections: the token is compared, a session begins, a signed cookie is set. */
export async function measureLogins() {
  const { home, remove } = await makeHome();
  const [ourPort, barePort] = [await freePort(), await freePort()];
  const servers = [startLauncher(home, ourPort, { SERVICE_LAUNCHER_TOKEN: launcherToken }), startPeer("fastify-login", barePort)];
  try {
    await Promise.all([servers[0]?.listening(ourPort), servers[1]?.listening(barePort)]);
    const load = (/** @type {number} */ port) => () => generate("requests", { port, head: request(port), connections: 16, seconds: 3 });
    const [ours = [], bare = []] = await interleave(5, [load(ourPort), load(barePort)]);
    return [
      { what: "sign-ins, bare Fastify route", unit: "/s", values: bare },
      { what: "sign-ins, POST /login", unit: "/s", values: ours, against: `${ratio(ours, bare)} of bare`, aim: "0.7x" },
    ];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await remove();
  }
}

/** @param {number} port */
function request(port) {
  const body = JSON.stringify({ token: launcherToken });
  const fields = ["POST /login HTTP/1.1", `Host: 127.0.0.1:${port}`, "Content-Type: application/json", `Content-Length: ${body.length}`];
  return `${fields.join("\r\n")}\r\n\r\n${body}`;
}
