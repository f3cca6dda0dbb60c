import type { PicoMetrics } from "../../pico-server/index.ts";
import type { StatusView } from "../api/views.ts";

/** What a scrape shows, read once for all of it. */
export interface MetricsSnapshot {
  readonly pico: PicoMetrics | undefined;
  readonly state: StatusView["state"];
  readonly ready: boolean;
  readonly version: string;
  /** Sign-ins that are alive. */
  readonly sessions: number;
  /** Faults of clients by reason. */
  readonly clientFaults: CountByName;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

export interface MetricFamily {
  readonly type: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  read(metricsSnapshot: MetricsSnapshot): readonly Sample[];
}

type CountByName = Readonly<Record<string, number>>;

const states = ["unconfigured", "setup", "running", "rotating"] as const;

const singleSample = (value: number): readonly Sample[] => [[{}, value]];
const byLabel = (label: string, tally: CountByName, more: Labels = {}): Sample[] =>
  Object.entries(tally).map(([name, value]) => [{ ...more, [label]: name }, value]);
const byTwoLabels = (
  outer: string,
  inner: string,
  table: Readonly<Record<string, CountByName>>,
): Sample[] =>
  Object.entries(table).flatMap(([name, tally]) => byLabel(inner, tally, { [outer]: name }));
/** Most pairs never happen: those are left out. */
const nonZero = (samples: readonly Sample[]): Sample[] => samples.filter(([, value]) => value > 0);

const dashboardFamilies: readonly MetricFamily[] = [
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
    read: ({ ready }) => singleSample(ready ? 1 : 0),
  },
  {
    type: "gauge",
    name: "doorward_sessions",
    labels: [],
    help: "Dashboard sessions that are alive.",
    read: ({ sessions }) => singleSample(sessions),
  },
  {
    type: "counter",
    name: "doorward_client_faults_total",
    labels: ["reason"],
    help: "Rejected connections, requests and handshakes of clients, by reason.",
    read: ({ clientFaults }) => byLabel("reason", clientFaults),
  },
];

const channelFamily = (
  type: MetricFamily["type"],
  name: string,
  labels: readonly string[],
  help: string,
  read: (metrics: PicoMetrics) => readonly Sample[],
): MetricFamily => ({
  type,
  name,
  labels,
  help,
  read: (metricsSnapshot) => (metricsSnapshot.pico ? read(metricsSnapshot.pico) : []),
});

const channelFamilies: readonly MetricFamily[] = [
  channelFamily(
    "gauge",
    "pico_connections",
    [],
    "Connections to the channel, event streams included.",
    ({ connections }) => singleSample(connections),
  ),
  channelFamily(
    "counter",
    "pico_handshakes_total",
    ["result"],
    "WebSocket handshakes: accepted, or the code of the refusal.",
    ({ handshakes }) => byLabel("result", handshakes),
  ),
  channelFamily(
    "counter",
    "pico_closes_total",
    ["code", "initiator"],
    "Connections that ended, by close code and by whom.",
    ({ closes }) => nonZero(byTwoLabels("initiator", "code", closes)),
  ),
  channelFamily(
    "counter",
    "pico_frames_total",
    ["dir", "type"],
    "Frames from and to clients, by type.",
    ({ frames }) => byTwoLabels("dir", "type", frames),
  ),
  channelFamily(
    "counter",
    "pico_bytes_total",
    ["dir"],
    "Bytes from and to clients since their handshakes.",
    ({ bytes }) => byLabel("dir", bytes),
  ),
  channelFamily(
    "gauge",
    "pico_queue_bytes",
    [],
    "Bytes that wait to be sent to clients.",
    ({ queueBytes }) => singleSample(queueBytes),
  ),
  channelFamily(
    "counter",
    "pico_coalesced_total",
    [],
    "Updates that waited for a slow client and gave way to a later one.",
    ({ coalesced }) => singleSample(coalesced),
  ),
  channelFamily(
    "counter",
    "pico_dropped_total",
    ["class"],
    "Frames that were not sent: typing to a slow client, and what waited when a connection closed.",
    ({ dropped }) => byLabel("class", dropped),
  ),
  channelFamily(
    "counter",
    "pico_resumes_total",
    ["result"],
    "Clients that came back with their place in the stream.",
    ({ resumes }) => byLabel("result", resumes),
  ),
  channelFamily(
    "counter",
    "pico_gaps_total",
    ["reason"],
    "Gaps that clients were told of.",
    ({ gaps }) => byLabel("reason", gaps),
  ),
  channelFamily(
    "counter",
    "pico_auth_failures_total",
    ["method", "reason"],
    "Requests without the right token, by the first method offered.",
    ({ authFailures }) => nonZero(byTwoLabels("method", "reason", authFailures)),
  ),
  channelFamily(
    "gauge",
    "pico_wheel_late_seconds",
    [],
    "How late connections were looked at, at worst in the last minute.",
    ({ wheelLateSeconds }) => singleSample(wheelLateSeconds),
  ),
];

/** Those of the channel where one is loaded. */
export const familiesFor = ({ pico: loaded }: MetricsSnapshot): readonly MetricFamily[] =>
  loaded ? [...dashboardFamilies, ...channelFamilies] : dashboardFamilies;
