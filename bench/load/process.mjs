// The load generator: a process of its own, so that it takes no time from whom it measures. It
// speaks through plain sockets with bytes prepared once and counts what comes back: one that read
// it would be the slower side.
import { fanOut, streams } from "./hearing.mjs";
import { openMany } from "./sockets.mjs";
import { talk } from "./talk.mjs";
import { handshakes, requests } from "./visits.mjs";
import { watch } from "./processor.mjs";

/** @typedef {import("./talk.mjs").Target} Target */
/** @typedef {import("./talk.mjs").Result} Result */
/** @template T @typedef {Omit<T, keyof Target>} Of */

/** @type {import("./sockets.mjs").Client[]} */
const clients = [];
/** @type {{ wire: Target["wire"], port: number, pid: number }} */
let server = { wire: "pico", port: 0, pid: 0 };

/** @typedef {typeof calls} Calls */
const calls = {
  /** Whom to measure. @param {typeof server} given */
  meet: (given) => void (server = given),

  /** Opens connections until there are so many: each with a session of its own that the server makes, or in sessions
   * of so many. @param {{ connections: number, perSession?: number }} load */
  async grow({ connections, perSession }) {
    const before = clients.length;
    const { spent } = watch(server.pid);
    await openMany(clients, connections, (index) => {
      if (perSession === undefined) return server;
      return {
        ...server,
        session: `session-${String(Math.floor(index / perSession)).padStart(6, "0")}`,
      };
    });
    for (const { socket } of clients.slice(before)) {
      socket.on("close", () => fail(new Error("a connection was lost")));
    }
    return { done: clients.length - before, ...spent() };
  },

  /** @param {Of<Parameters<typeof talk>[0]>} load */
  talk: (load) => talk({ ...load, ...server, clients }),
  /** @param {Of<Parameters<typeof fanOut>[0]>} load */
  fanOut: (load) => fanOut({ ...load, ...server, clients }),
  /** @param {Of<Parameters<typeof streams>[0]>} load */
  streams: (load) => streams({ ...load, ...server, clients }),
  /** @param {{ busy: number, seconds: number, atMost: number }} load */
  handshakes: (load) => handshakes({ ...load, ...server }),
  /** @param {Omit<Parameters<typeof requests>[0], "port" | "pid">} load */
  requests: (load) => requests({ ...load, ...server }),
};

/** @param {unknown} error */
function fail(error) {
  const failure = error instanceof Error ? error.message : String(error);
  process.send?.({ failure }, () => process.exit(1));
}

process.on("message", (/** @type {{ name: keyof typeof calls, load: never }} */ { name, load }) => {
  Promise.resolve(calls[name](load)).then((result) => process.send?.({ result }), fail);
});
process.on("disconnect", () => process.exit());
