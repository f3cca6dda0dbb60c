// Plans the workers of one home: their ports, names and differences in settings.
import { hostname } from "node:os";
import { join } from "node:path";
import { readJson } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import type { Environment } from "../load/index.ts";
import { workersErrors } from "./errors.ts";

interface WorkersOptions {
  readonly count: number;
  readonly home: string;
  readonly env: Environment;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string | undefined;
  /** Port of the first dashboard from the command line. */
  readonly port?: number | undefined;
}

/** One process of several that serve a home. */
export interface WorkerPlan {
  /** From 1. The first one has the control socket of the home. */
  readonly number: number;
  /** Port of its dashboard. */
  readonly port: number;
  /** Environment variables with settings of this worker alone. */
  readonly variables: Readonly<Record<string, string>>;
}

const defaultPort = 18_800;
const maxPort = 65_535;
/** Leaves room for the number in the longest name of a node. */
const maxNameLength = 60;

/**
 * Plans the workers. Values that are not valid stay for the first worker to reject.
 *
 * @throws WORKERS_WITHOUT_STORE if the store is not shared.
 * @throws WORKERS_WITHOUT_GATEWAY if the channel has no port of its own.
 * @throws WORKERS_PORTS if the dashboards would need ports above 65535.
 */
export async function planWorkers(options: WorkersOptions): Promise<readonly WorkerPlan[]> {
  const { count, home, env, config = join(home, "config.json") } = options;
  const main = (await readJson(config))?.value ?? {};
  const launcher = (await readJson(join(home, "launcher-config.json")))?.value ?? {};
  const setting = (section: "store" | "gateway", key: string): unknown => {
    const inFile = isObject(main[section]) ? main[section][key] : undefined;
    return textOf(env[`SERVICE_${section}_${key}`.toUpperCase()]) ?? inFile;
  };
  if (setting("store", "kind") !== "redis") throw workersErrors.WORKERS_WITHOUT_STORE(count);
  const gateway = setting("gateway", "port");
  if (gateway === undefined) throw workersErrors.WORKERS_WITHOUT_GATEWAY(count);
  const given = options.port ?? textOf(env["SERVICE_LAUNCHER_PORT"]) ?? launcher["port"];
  const ports = dashboardPorts(count, portOf(given) ?? defaultPort, portOf(gateway));
  const name = (textOf(setting("store", "node")) ?? hostname()).slice(0, maxNameLength);
  return ports.map((port, at) => ({
    number: at + 1,
    port,
    variables: {
      SERVICE_STORE_NODE: `${name}-${at + 1}`,
      // Each worker would hold the same conversation with the other server, and answer it.
      ...(at > 0 && { SERVICE_CHANNELS_PICO_CLIENT_ENABLED: "false" }),
    },
  }));
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;

function portOf(value: unknown): number | undefined {
  const port = typeof value === "string" ? Number(value) : value;
  return typeof port === "number" && Number.isInteger(port) ? port : undefined;
}

/** @returns `first` and the next numbers, except that of the channel; zeros for free ports. */
function dashboardPorts(count: number, first: number, gateway: number | undefined): number[] {
  if (first === 0) return Array.from({ length: count }, () => 0);
  const ports = [first];
  for (let port = first + 1; ports.length < count; port += 1)
    if (port !== gateway) ports.push(port);
  if (ports.at(-1)! > maxPort) throw workersErrors.WORKERS_PORTS(count, first);
  return ports;
}
