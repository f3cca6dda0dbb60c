/**
 * Finds the programs that some tests need and a fresh machine lacks. A test without its program is
 * skipped, and the log names the Debian package to install. Under `CI=true` its file fails instead.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

interface Tool {
  /** Name of the file in a directory of `PATH`. Default: the tool's own name. */
  readonly program?: string;
  /** Arguments with which the program must succeed. Without them, being executable is enough. */
  readonly probe?: readonly string[];
  /** Whether the probe prints the path of the program itself. A version manager's wrapper in `PATH`
   *  may change the environment, so it must not start the program. */
  readonly printsPath?: boolean;
  /** Name of the Debian package. */
  readonly debian: string;
}

const printPath = "import sys; print(sys.executable)";

const tools = {
  caddy: { probe: ["version"], debian: "caddy" },
  curl: { probe: ["--version"], debian: "curl" },
  "dbus-daemon": { probe: ["--version"], debian: "dbus" },
  fish: { probe: ["--version"], debian: "fish" },
  git: { probe: ["--version"], debian: "git" },
  groff: { probe: ["--version"], debian: "groff-base" },
  haproxy: { probe: ["-v"], debian: "haproxy" },
  hydra: { debian: "hydra" },
  import: { debian: "imagemagick" },
  nginx: { probe: ["-v"], debian: "nginx" },
  python: {
    program: "python3",
    probe: ["-c", `import os; os.login_tty; ${printPath}`],
    printsPath: true,
    debian: "python3",
  },
  "python-websockets": {
    program: "python3",
    probe: ["-c", `import websockets; ${printPath}`],
    printsPath: true,
    debian: "python3-websockets",
  },
  "redis-sentinel": { probe: ["--version"], debian: "redis-sentinel" },
  "redis-server": { probe: ["--version"], debian: "redis-server" },
  slowhttptest: { debian: "slowhttptest" },
  strace: { probe: ["-V"], debian: "strace" },
  "systemd-analyze": { probe: ["--version"], debian: "systemd" },
  xclip: { debian: "xclip" },
  xdotool: { debian: "xdotool" },
  "xfce4-panel": { debian: "xfce4-panel" },
  zsh: { probe: ["--version"], debian: "zsh" },
  Xvfb: { debian: "xvfb" },
} satisfies Record<string, Tool>;

export type ToolName = keyof typeof tools;

/**
 * The path of a tool, from the first directory of `PATH` whose program passes the probe. The path
 * matters: the first Python is often not the one that Debian's packages belong to.
 *
 * @returns undefined, after saying so, if there is none.
 * @throws Under `CI=true`, if there is none.
 * @example
 * const nginx = findTool("nginx");
 * test.skipIf(!nginx)("passes WebSockets on", () => startProxy(nginx!));
 */
export function findTool(name: ToolName): string | undefined {
  const { program = name, probe, printsPath, debian }: Tool = tools[name];
  for (const path of findExecutables(program)) {
    if (!probe) return path;
    const { status, stdout } = spawnSync(path, probe, { encoding: "utf8" });
    if (status === 0) return printsPath ? stdout.trim() : path;
  }
  return optional(undefined, `${name} (Debian: ${debian})`);
}

/** Whether every tool is there. Names all absent ones. */
export function hasTools(...names: readonly ToolName[]): boolean {
  return names.map((name) => findTool(name)).every((path) => path !== undefined);
}

/** The path of libfaketime, which the dynamic linker loads, so that it is in no directory of `PATH`. */
export function findFaketime(): string | undefined {
  const paths = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"].map(
    (directory) => `${directory}/faketime/libfaketime.so.1`,
  );
  return optional(
    paths.find((path) => existsSync(path)),
    "libfaketime (Debian: libfaketime)",
  );
}

/**
 * Passes a requirement of a test on. If it is undefined, says that tests are skipped because of it.
 *
 * @param need - What is missing and how to get it.
 * @throws Under `CI=true`, if it is undefined.
 */
export function optional<T>(found: T | undefined, need: string): T | undefined {
  if (found !== undefined) return found;
  if (process.env["CI"] === "true") throw new Error(`This test needs ${need}.`);
  console.warn(`skipped: needs ${need}`);
  return undefined;
}

/** Paths of the executable files of this name in the directories of `PATH`, in their order. */
export function findExecutables(program: string): string[] {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => directory !== "")
    .map((directory) => join(directory, program))
    .filter(isExecutable);
}

/** Whether a regular file may be executed by this user. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
