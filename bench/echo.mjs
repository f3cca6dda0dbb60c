import { freePort, makeHome, picoToken, startLauncher, startPeer } from "./launcher.mjs";
import { talk } from "./talk.mjs";
import { interleave, ratio } from "./report.mjs";

const connections = 50;

/** Messages answered each second, with so many of each connection on their way; the channel's rate limit is off. */
export async function measureEcho() {
  const pico = { enabled: true, max_connections: 1_000, message_rate: 0 };
  const { home, remove } = await makeHome({ channels: { pico } });
  const [ourPort, barePort] = [await freePort(), await freePort()];
  const env = { SERVICE_LAUNCHER_TOKEN: "bench-launcher-token", SERVICE_CHANNELS_PICO_TOKEN: picoToken };
  const servers = [startLauncher(home, ourPort, env), startPeer("ws-echo", barePort)];
  try {
    for (const [at, port] of [ourPort, barePort].entries()) await servers[at]?.listening(port);
    const rows = [];
    for (const [inFlight, aim] of /** @type {const} */ ([[1, "1.2x"], [16, "2.5x"]])) {
      const load = (/** @type {number} */ port) => () => talk({ port, token: picoToken, connections, inFlight, seconds: 2 });
      const [ours = [], bare = []] = await interleave(5, [load(ourPort), load(barePort)]);
      const what = `echo, ${connections} connections, ${inFlight} in flight`;
      rows.push({ what: `${what}, bare ws`, unit: "/s", values: bare });
      rows.push({ what: `${what}, /pico`, unit: "/s", values: ours, against: `${ratio(ours, bare)} of bare`, aim });
    }
    return rows;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await remove();
  }
}
