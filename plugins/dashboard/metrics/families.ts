import type { PicoMetrics } from "../../pico-server/index.ts";
import type { StatusView } from "../status.ts";

/** What a scrape shows, read once for all of it. */
export interface Facts {
  readonly pico: PicoMetrics | undefined;
  readonly state: StatusView["state"];
  readonly ready: boolean;
  readonly version: string;
  /** Sign-ins that are alive. */
  readonly sessions: number;
  /** Faults of clients by reason. */
  readonly clientFaults: Tally;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

export interface Family {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  read(facts: Facts): readonly Sample[];
}

type Tally = Readonly<Record<string, number>>;

const states = ["unconfigured", "setup", "running", "rotating"] as const;

const one = (value: number): readonly Sample[] => [[{}, value]];
const byLabel = (label: string, tally: Tally, more: Labels = {}): Sample[] =>
  Object.entries(tally).map(([name, value]) => [{ ...more, [label]: name }, value]);
const byTwo = (outer: string, inner: string, table: Readonly<Record<string, Tally>>): Sample[] =>
  Object.entries(table).flatMap(([name, tally]) => byLabel(inner, tally, { [outer]: name }));
/** Most pairs never happen: those are left out. */
const seen = (samples: readonly Sample[]): Sample[] => samples.filter(([, value]) => value > 0);

const own: readonly Family[] = [
  {
    type: "gauge",
    name: "doorward_info",
    labels: ["version"],
    help: "The version that runs; always 1.",
    read: ({ version }) => [[{ version }, 1]],
  },
  {
    type: "gauge",
    name: "doorward_state",
    labels: ["state"],
    help: "1 for the state the launcher is in, 0 for the others.",
    read: ({ state }) => states.map((name) => [{ state: name }, name === state ? 1 : 0]),
  },
  {
    type: "gauge",
    name: "doorward_ready",
    labels: [],
    help: "1 while requests are served, 0 while it starts or stops.",
    read: ({ ready }) => one(ready ? 1 : 0),
  },
  {
    type: "gauge",
    name: "doorward_sessions",
    labels: [],
    help: "Dashboard sessions that are alive.",
    read: ({ sessions }) => one(sessions),
  },
  {
    type: "counter",
    name: "doorward_client_faults_total",
    labels: ["reason"],
    help: "Rejected connections, requests and handshakes of clients, by reason.",
    read: ({ clientFaults }) => byLabel("reason", clientFaults),
  },
];

const pico = (
  type: Family["type"],
  name: string,
  labels: readonly string[],
  help: string,
  read: (metrics: PicoMetrics) => readonly Sample[],
): Family => ({ type, name, labels, help, read: (facts) => (facts.pico ? read(facts.pico) : []) });

const channel: readonly Family[] = [
  pico(
    "gauge",
    "pico_connections",
    [],
    "Connections to the channel, event streams included.",
    ({ connections }) => one(connections),
  ),
  pico(
    "counter",
    "pico_handshakes_total",
    ["result"],
    "WebSocket handshakes: accepted, or the code of the refusal.",
    ({ handshakes }) => byLabel("result", handshakes),
  ),
  pico(
    "counter",
    "pico_closes_total",
    ["code", "initiator"],
    "Connections that ended, by close code and by whom.",
    ({ closes }) => seen(byTwo("initiator", "code", closes)),
  ),
  pico(
    "counter",
    "pico_frames_total",
    ["dir", "type"],
    "Frames from and to clients, by type.",
    ({ frames }) => byTwo("dir", "type", frames),
  ),
  pico(
    "counter",
    "pico_bytes_total",
    ["dir"],
    "Bytes from and to clients since their handshakes.",
    ({ bytes }) => byLabel("dir", bytes),
  ),
  pico(
    "gauge",
    "pico_queue_bytes",
    [],
    "Bytes that wait to be sent to clients.",
    ({ queueBytes }) => one(queueBytes),
  ),
  pico(
    "counter",
    "pico_coalesced_total",
    [],
    "Updates that waited for a slow client and gave way to a later one.",
    ({ coalesced }) => one(coalesced),
  ),
  pico(
    "counter",
    "pico_dropped_total",
    ["class"],
    "Frames that were not sent: typing to a slow client, and what waited when a connection closed.",
    ({ dropped }) => byLabel("class", dropped),
  ),
  pico(
    "counter",
    "pico_resumes_total",
    ["result"],
    "Clients that came back with their place in the stream.",
    ({ resumes }) => byLabel("result", resumes),
  ),
  pico("counter", "pico_gaps_total", ["reason"], "Gaps that clients were told of.", ({ gaps }) =>
    byLabel("reason", gaps),
  ),
  pico(
    "counter",
    "pico_auth_failures_total",
    ["method", "reason"],
    "Requests without the right token, by the first method offered.",
    ({ authFailures }) => seen(byTwo("method", "reason", authFailures)),
  ),
  pico(
    "gauge",
    "pico_wheel_late_seconds",
    [],
    "How late connections were looked at, at worst in the last minute.",
    ({ wheelLateSeconds }) => one(wheelLateSeconds),
  ),
];

/** Those of the channel where one is loaded. */
export const familiesFor = ({ pico: loaded }: Facts): readonly Family[] =>
  loaded ? [...own, ...channel] : own;
