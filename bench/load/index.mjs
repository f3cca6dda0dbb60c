import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { spawnOn } from "../machine.mjs";

/** @typedef {import("./process.mjs").Calls} Calls */
/** @template {keyof Calls} N @typedef {Promise<Awaited<ReturnType<Calls[N]>>>} Answer */

const program = fileURLToPath(new URL("process.mjs", import.meta.url));
const timeoutSeconds = 120;

/**
 * @typedef {object} Generator
 * @property {<N extends keyof Calls>(name: N, load: Parameters<Calls[N]>[0]) => Answer<N>} ask
 * @property {() => Promise<void>} stop
 */

/** Starts a process that puts load on one server.
 * @param {Pick<import("../servers.mjs").Server, "protocol" | "port" | "pid">} server
 * @param {"load" | "any"} [role] @returns {Promise<Generator>} */
export async function startGenerator({ protocol, port, pid }, role = "load") {
  const child = spawnOn(role, process.execPath, [program], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");

  /** @type {Generator["ask"]} */
  const ask = (name, load) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => fail(`no response within ${timeoutSeconds} s`),
        timeoutSeconds * 1_000,
      );
      const fail = (/** @type {string} */ why) => {
        dispose();
        reject(new Error(`load generator, ${name}: ${why}`));
      };
      const exited = () => fail("its process has ended");
      const answered = (/** @type {{ result?: any, failure?: string }} */ { result, failure }) => {
        if (failure !== undefined) return fail(failure);
        dispose();
        resolve(result);
      };
      function dispose() {
        clearTimeout(timer);
        child.off("message", answered).off("exit", exited);
      }
      child.on("message", answered).on("exit", exited);
      child.send({ name, load });
    });

  await ask("setTarget", { protocol, port, pid });
  return {
    ask,
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
