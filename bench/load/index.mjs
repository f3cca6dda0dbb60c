import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { spawnOn } from "../machine.mjs";

/** @typedef {import("./process.mjs").Calls} Calls */
/** @template {keyof Calls} N @typedef {Promise<Awaited<ReturnType<Calls[N]>>>} Answer */

const program = fileURLToPath(new URL("process.mjs", import.meta.url));
/** No call takes as long on a machine that has any time at all. */
const mostSeconds = 120;

/**
 * @typedef {object} Generator
 * @property {<N extends keyof Calls>(name: N, load: Parameters<Calls[N]>[0]) => Answer<N>} ask
 * @property {() => Promise<void>} stop
 */

/** A process that makes load for one server.
 * @param {import("../servers.mjs").Server} server @returns {Promise<Generator>} */
export async function startGenerator({ wire, port, pid }) {
  const child = spawnOn("load", process.execPath, [program], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");

  /** @type {Generator["ask"]} */
  const ask = (name, load) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => over(`no answer in ${mostSeconds} s`), mostSeconds * 1_000);
      const over = (/** @type {string} */ why) => {
        forget();
        reject(new Error(`load generator, ${name}: ${why}`));
      };
      const exited = () => over("it has ended");
      const answered = (/** @type {{ result?: any, failure?: string }} */ { result, failure }) => {
        if (failure !== undefined) return over(failure);
        forget();
        resolve(result);
      };
      function forget() {
        clearTimeout(timer);
        child.off("message", answered).off("exit", exited);
      }
      child.on("message", answered).on("exit", exited);
      child.send({ name, load });
    });

  await ask("meet", { wire, port, pid });
  return {
    ask,
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
