import { freePort, makeHome, picoToken, startLauncher, startPeer } from "./launcher.mjs";
import { generate } from "./load.mjs";
import { interleave, ratio } from "./report.mjs";

/** Connections that are opened with the token, answered 101 and closed again, many at a time. */
export async function measureHandshakes() {
  const { home, remove } = await makeHome({ channels: { pico: { enabled: true, max_connections: 10_000 } } });
  const [ourPort, barePort] = [await freePort(), await freePort()];
  const env = { SERVICE_LAUNCHER_TOKEN: "bench-launcher-token", SERVICE_CHANNELS_PICO_TOKEN: picoToken };
  const servers = [startLauncher(home, ourPort, env), startPeer("ws-server", barePort)];
  try {
    for (const [at, port] of [ourPort, barePort].entries()) await servers[at]?.listening(port);
    const load = (/** @type {number} */ port) => () =>
      generate("handshakes", { port, head: request(port), connections: 16, seconds: 2, atMost: 60_000 });
    const [ours = [], bare = []] = await interleave(5, [load(ourPort), load(barePort)]);
    return [
      { what: "handshakes, bare ws", unit: "/s", values: bare },
      { what: "handshakes, /pico", unit: "/s", values: ours, against: `${ratio(ours, bare)} of bare`, aim: "0.9x" },
    ];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await remove();
  }
}

/** @param {number} port */
function request(port) {
  const fields = [
    "GET /pico HTTP/1.1", `Host: 127.0.0.1:${port}`, "Connection: Upgrade", "Upgrade: websocket",
    "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", `Authorization: Bearer ${picoToken}`,
  ];
  return `${fields.join("\r\n")}\r\n\r\n`;
}
