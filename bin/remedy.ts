import { connect } from "node:net";
import { controlSocketPaths } from "../config/local/index.ts";
import type { Environment } from "../config/load/index.ts";

/** What a failed start tells beside its reason, or nothing: what the owner of this home can do about it. */
export async function startFailureRemedy(
  code: string,
  home: string,
  env: Environment,
): Promise<string> {
  if (code === "store_unavailable") {
    return (
      ` Mend that, name another folder in SERVICE_HOME, or give the launcher's token in SERVICE_LAUNCHER_TOKEN, ` +
      "so that none has to be written."
    );
  }
  const isOwn = code === "HTTP_PORT_IN_USE" && (await isRunning(home, env));
  return isOwn
    ? '. The launcher of this home runs already: "doorward open" shows its dashboard.'
    : "";
}

/** Whether a launcher of this home takes commands. */
function isRunning(home: string, env: Environment): Promise<boolean> {
  const { socket: path } = controlSocketPaths(home, env);
  if (path === undefined) return Promise.resolve(false);
  return new Promise((done) => {
    const end = (is: boolean) => (): void => {
      socket.destroy();
      done(is);
    };
    const socket = connect(path).setTimeout(1_000).once("connect", end(true));
    socket.once("error", end(false)).once("timeout", end(false));
  });
}
