// The load generator. It runs in a process of its own so that it takes no processor time from the
// server. It writes prepared bytes to plain sockets and counts the frames it receives: parsing them
// would make it slower than the server.
import {
  answerBytes,
  answers,
  askText,
  firstBytes,
  leaveAnswers,
  openAnswers,
} from "./answers.mjs";
import { fanOut, streams } from "./fan-out.mjs";
import { openMany } from "./connections.mjs";
import { exchange } from "./echo.mjs";
import { latency } from "./latency.mjs";
import { handshakes, requests } from "./requests.mjs";
import { stopwatch } from "./processor.mjs";

/** @typedef {import("./echo.mjs").Target} Target */
/** @typedef {import("./echo.mjs").Result} Result */
/** @template T @typedef {Omit<T, keyof Target>} Of */

/** @type {import("./connections.mjs").Client[]} */
const clients = [];
/** @type {{ protocol: Target["protocol"], port: number, pid: Target["pid"] }} */
let server = { protocol: "pico", port: 0, pid: 0 };

/** @typedef {typeof calls} Calls */
const calls = {
  /** Sets the server to measure. @param {typeof server} given */
  setTarget: (given) => void (server = given),

  /** Opens connections until there are `connections`. Without `perSession`, the server creates a
   * session for each. @param {{ connections: number, perSession?: number }} load */
  async connect({ connections, perSession }) {
    const before = clients.length;
    const { usage } = stopwatch(server.pid);
    await openMany(clients, connections, (index) => {
      if (perSession === undefined) return server;
      return {
        ...server,
        session: `session-${String(Math.floor(index / perSession)).padStart(6, "0")}`,
      };
    });
    for (const { socket } of clients.slice(before)) {
      /** @type {Error | undefined} */
      let cause;
      socket.on("error", (error) => (cause = error));
      socket.on("close", () =>
        fail(new Error(`a connection was lost: ${cause?.message ?? "the server ended it"}`)),
      );
    }
    return { done: clients.length - before, ...usage() };
  },

  answers,
  answerBytes,
  askText,
  firstBytes,
  leaveAnswers,
  openAnswers,

  /** @param {Of<Parameters<typeof exchange>[0]>} load */
  exchange: (load) => exchange({ ...load, ...server, clients }),
  /** @param {Of<Parameters<typeof latency>[0]>} load */
  latency: (load) => latency({ ...load, ...server, clients }),
  /** @param {Of<Parameters<typeof fanOut>[0]>} load */
  fanOut: (load) => fanOut({ ...load, ...server, clients }),
  /** @param {Of<Parameters<typeof streams>[0]>} load */
  streams: (load) => streams({ ...load, ...server, clients }),
  /** @param {{ concurrency: number, seconds: number, atMost: number }} load */
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
