import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const token = "correct-horse-battery-staple-correct-horse-battery-staple";

/** What children tell beside answers. */
export type News = Readonly<Record<string, unknown>>;

/** A process of `children/<name>.mjs` that does what it is told. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** Rejects with what the child says went wrong. */
  ask(order: string, more?: object): Promise<unknown>;
  /** Resolves when it holds, looked at whenever the child tells something; rejects when its process ends before. */
  until(what: string, holds: () => boolean): Promise<void>;
}

export interface ChildOptions {
  /** Files the process may open. */
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

/** Looks often: what others know tells nobody that it has changed. */
export async function eventually(holds: () => unknown): Promise<void> {
  while (!(await holds())) await new Promise((again) => setTimeout(again, 20));
}
