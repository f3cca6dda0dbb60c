import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const token = "correct-horse-battery-staple-correct-horse-battery-staple";

/** An event that a child reports without an order. */
export type News = Readonly<Record<string, unknown>>;

/** A process of `children/<name>.mjs` that executes orders. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** Sends an order. Rejects with the error that the child reports. */
  ask(order: string, more?: object): Promise<unknown>;
  /**
   * Resolves when `holds` returns true, checked after each report of the child. Rejects if the
   * process exits before.
   */
  until(what: string, holds: () => boolean): Promise<void>;
}

export interface ChildOptions {
  /** Maximum number of open files of the process. */
  readonly files?: number;
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export function startChild(
  name: string,
  argument: object,
  hear: (news: News) => void,
  options: ChildOptions = {},
): Child {
  const { files, nodeArgs = [], env = {} } = options;
  const file = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const command = [process.execPath, ...nodeArgs, file, JSON.stringify(argument)];
  const limit = files === undefined ? "" : `ulimit -n ${files} && `;
  const child = spawn("bash", ["-c", `${limit}exec "$@"`, "-", ...command], {
    env: { PATH: process.env["PATH"] ?? "", TOKEN: token, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const answers = new Map<number, News>();
  const looks = new Set<() => void>();
  let count = 0;
  child.on("message", (news: News) => {
    if (typeof news["id"] === "number") answers.set(news["id"], news);
    else hear(news);
    looks.forEach((look) => look());
  });
  const ended = once(child, "close");
  const until: Child["until"] = (what, holds) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!holds()) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
      look();
      void ended.then(([code, signal]) =>
        reject(new Error(`${name} ended (${code ?? signal}) before ${what}`)),
      );
    });
  return {
    pid: child.pid!,
    until,
    async ask(order, more = {}) {
      const id = (count += 1);
      child.send({ id, order, ...more });
      await until(`it answered ${order}`, () => answers.has(id));
      const { answer, failed } = answers.get(id)!;
      answers.delete(id);
      if (failed !== undefined) throw new Error(String(failed));
      return answer;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Polls, because other processes do not announce changes. */
export async function eventually(holds: () => unknown): Promise<void> {
  while (!(await holds())) await new Promise((again) => setTimeout(again, 20));
}
