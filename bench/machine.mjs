// Describes the machine and assigns processes to its cores.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";

/** Returns the limit of open files. Node and Go raise the soft limit to this hard limit. */
export const maxOpenFiles = () => {
  const [, hard] = /^Max open files +\S+ +(\d+)/m.exec(readText("/proc/self/limits")) ?? [];
  return Number(hard ?? 1_024);
};

/** Lists the cores that this process may use. The system writes them as "0-3,8". */
function allowedCores() {
  const [, list = ""] = /^Cpus_allowed_list:\s*(\S+)/m.exec(readText("/proc/self/status")) ?? [];
  return list
    .split(",")
    .filter(Boolean)
    .flatMap((range) => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    });
}

const cores = allowedCores();
/** One core for the servers and one for the load. Undefined without `taskset` or with a single core. */
const places =
  cores.length > 1 && succeeds("taskset", ["-V"])
    ? { server: cores[0], load: cores.at(-1) }
    : undefined;

/** Like `spawn`, on the core of its role if possible. The role `any` uses all cores.
 * @param {"server" | "load" | "any"} role @param {string} command @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options */
export const spawnOn = (role, command, args, options) =>
  places && role !== "any"
    ? spawn("taskset", ["-c", String(places[role]), command, ...args], options)
    : spawn(command, args, options);

export const load = () =>
  loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");

/** Describes what the figures depend on. */
export function describeMachine() {
  const [cpu] = cpus();
  const versions = ["ws", "socket.io", "@hocuspocus/server", "bun"].flatMap(
    (name) => versionOf(name) ?? [],
  );
  return [
    `${cores.length || cpus().length} cores, ${cpu?.model ?? "unknown processor"}`,
    `${process.platform} ${process.arch}, Node ${process.version}, ${versions.join(", ")}`,
    places
      ? `servers on core ${places.server}, the load on core ${places.load}`
      : "servers and load share all cores",
    "all features on, except the message rate limit of the channel (message_rate: 0)",
  ].join("\n");
}

const fromHere = createRequire(import.meta.url);

/** Returns `NAME VERSION` of an installed package. Searches the folder, because a package may not export
 * its `package.json`. @param {string} name */
export function versionOf(name) {
  const file = (fromHere.resolve.paths(name) ?? [])
    .map((path) => `${path}/${name}/package.json`)
    .find(existsSync);
  return file && `${name} ${JSON.parse(readFileSync(file, "utf8")).version}`;
}

/** @param {string} command @param {readonly string[]} args */
export function succeeds(command, args) {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
