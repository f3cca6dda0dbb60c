// What the figures were measured on, and where each process runs.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";

/** Files this process may open; Node and Go raise it to what is allowed by themselves. */
export const mostFiles = () => {
  const [, hard] = /^Max open files +\S+ +(\d+)/m.exec(readText("/proc/self/limits")) ?? [];
  return Number(hard ?? 1_024);
};

/** The processors this process may use, "0-3,8" as the system writes it. */
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
/** A core for the servers and another one for the load; undefined: there is no `taskset`, or one
 *  core only. */
const places =
  cores.length > 1 && succeeds("taskset", ["-V"])
    ? { server: cores[0], load: cores.at(-1) }
    : undefined;

/** As `spawn`, on the core of its role where that can be had.
 * @param {"server" | "load"} role @param {string} command @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options */
export const spawnOn = (role, command, args, options) =>
  places
    ? spawn("taskset", ["-c", String(places[role]), command, ...args], options)
    : spawn(command, args, options);

export const load = () =>
  loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");

/** What a reader must know beside the figures. */
export function describeMachine() {
  const [cpu] = cpus();
  const versions = ["ws", "socket.io", "@hocuspocus/server"].flatMap(
    (name) => versionOf(name) ?? [],
  );
  return [
    `${cores.length || cpus().length} cores, ${cpu?.model ?? "unknown processor"}`,
    `${process.platform} ${process.arch}, Node ${process.version}, ${versions.join(", ")}`,
    places
      ? `servers on core ${places.server}, the load on core ${places.load}`
      : "servers and load share all cores",
    "the channel's message rates are off (message_rate: 0); everything else is on",
  ].join("\n");
}

const fromHere = createRequire(import.meta.url);

/** `name version` of an installed package. Its own `package.json` may not be exported, so that its folder is searched.
 * @param {string} name */
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
