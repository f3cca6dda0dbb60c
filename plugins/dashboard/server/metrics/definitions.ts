/** Definitions of all metrics: name, type, labels and how to read the values. @module */
import type { AttachedChannel, QuestionCounts } from "../../../channels/index.ts";
import type { StoreHealth, StoreMetrics } from "../../../conversations/index.ts";
import type { PicoMetrics } from "../../../pico-server/index.ts";
import type { StatusView } from "../../shared/views.ts";

/** Values of one scrape, read together. */
export interface MetricsSnapshot {
  readonly pico: PicoMetrics | undefined;
  readonly state: StatusView["state"];
  readonly ready: boolean;
  readonly version: string;
  /** Live sign-ins. */
  readonly sessions: number;
  /** Rejections of clients by reason. */
  readonly clientFaults: CountByName;
  /** Undefined without channels. */
  readonly questions: QuestionCounts | undefined;
  /** Channels of other authors. */
  readonly channels: readonly AttachedChannel[];
  /** Undefined without a durable store. */
  readonly store: { readonly health: StoreHealth; readonly metrics: StoreMetrics } | undefined;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

export interface MetricFamily {
  /** Samples of a histogram have the label `le`, or the label `part` with `sum` or `count`. */
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  read(snapshot: MetricsSnapshot): readonly Sample[];
}

type CountByName = Readonly<Record<string, number>>;

const states = ["unconfigured", "setup", "running", "rotating"] as const;

const singleSample = (value: number): readonly Sample[] => [[{}, value]];
const byLabel = (label: string, counts: CountByName, more: Labels = {}): Sample[] =>
  Object.entries(counts).map(([name, value]) => [{ ...more, [label]: name }, value]);
const byTwoLabels = (
  outer: string,
  inner: string,
  table: Readonly<Record<string, CountByName>>,
): Sample[] =>
  Object.entries(table).flatMap(([name, counts]) => byLabel(inner, counts, { [outer]: name }));
/** Leaves out zeros: most pairs of labels never occur. */
const nonZero = (samples: readonly Sample[]): Sample[] => samples.filter(([, value]) => value > 0);

/** Counts within each bound, cumulative, and in total. */
const histogram = ({ bounds, counts, count, sum }: QuestionCounts["waits"]): readonly Sample[] => [
  ...bounds.map((le, at): Sample => [{ le: String(le) }, counts[at]!]),
  [{ le: "+Inf" }, count],
  [{ part: "sum" }, sum],
  [{ part: "count" }, count],
];

/** Creates families that read a part of the snapshot. Without that part they have no samples. */
const familiesOf =
  <T extends object>(partOf: (snapshot: MetricsSnapshot) => T | undefined) =>
  (
    type: MetricFamily["type"],
    name: string,
    labels: readonly string[],
    help: string,
    readPart: (part: T) => readonly Sample[],
  ): MetricFamily => ({
    type,
    name,
    labels,
    help,
    read(snapshot) {
      const part = partOf(snapshot);
      return part ? readPart(part) : [];
    },
  });
const dashboardFamily = familiesOf((snapshot) => snapshot);
const channelFamily = familiesOf(({ pico }) => pico);
const storeFamily = familiesOf(({ store }) => store);
const questionFamily = familiesOf(({ questions }) => questions);

const dashboardFamilies: readonly MetricFamily[] = [
  dashboardFamily(
    "gauge",
    "doorward_info",
    ["version", "node"],
    "Version of the launcher, and its name among nodes that share a store; always 1.",
    ({ version, store }) => {
      const node = store?.health.nodes?.find(({ isSelf }) => isSelf);
      return [[node ? { version, node: node.name } : { version }, 1]];
    },
  ),
  dashboardFamily(
    "gauge",
    "doorward_state",
    ["state"],
    "1 for the current state of the launcher, 0 for the others.",
    ({ state }) => states.map((name) => [{ state: name }, name === state ? 1 : 0]),
  ),
  dashboardFamily(
    "gauge",
    "doorward_ready",
    [],
    "1 while the launcher serves requests, 0 during startup and shutdown.",
    ({ ready }) => singleSample(ready ? 1 : 0),
  ),
  dashboardFamily(
    "gauge",
    "doorward_sessions",
    [],
    "Live sign-ins of the dashboard.",
    ({ sessions }) => singleSample(sessions),
  ),
  dashboardFamily(
    "counter",
    "doorward_client_faults_total",
    ["reason"],
    "Rejected connections, requests and handshakes of clients, by reason.",
    ({ clientFaults }) => byLabel("reason", clientFaults),
  ),
  dashboardFamily(
    "gauge",
    "doorward_channel_sessions",
    ["channel"],
    "Sessions with a client, of each channel of another author that reports them.",
    ({ channels }) => channels.map(({ name, sessions }) => [{ channel: name }, sessions]),
  ),
  dashboardFamily(
    "counter",
    "doorward_channel_messages_total",
    ["channel", "direction"],
    "Messages of each channel of another author, by direction: in or out.",
    ({ channels }) =>
      channels.flatMap(({ name: channel, received, sent }) => [
        [{ channel, direction: "in" }, received],
        [{ channel, direction: "out" }, sent],
      ]),
  ),
];

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
    "WebSocket handshakes, by result: accepted or the rejection code.",
    ({ handshakes }) => byLabel("result", handshakes),
  ),
  channelFamily(
    "counter",
    "pico_closes_total",
    ["code", "initiator"],
    "Closed connections, by close code and initiator.",
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
  channelFamily("gauge", "pico_queue_bytes", [], "Bytes queued for clients.", ({ queueBytes }) =>
    singleSample(queueBytes),
  ),
  channelFamily(
    "counter",
    "pico_coalesced_total",
    [],
    "Updates to slow clients that a later update replaced.",
    ({ coalesced }) => singleSample(coalesced),
  ),
  channelFamily(
    "counter",
    "pico_dropped_total",
    ["class"],
    "Frames not sent: typing to slow clients, and frames queued when a connection closed.",
    ({ dropped }) => byLabel("class", dropped),
  ),
  channelFamily(
    "counter",
    "pico_resumes_total",
    ["result"],
    "Clients that reconnected with a cursor.",
    ({ resumes }) => byLabel("result", resumes),
  ),
  channelFamily("counter", "pico_gaps_total", ["reason"], "Gaps reported to clients.", ({ gaps }) =>
    byLabel("reason", gaps),
  ),
  channelFamily(
    "counter",
    "pico_auth_failures_total",
    ["method", "reason"],
    "Requests without a valid token, by the first token method in the request.",
    ({ authFailures }) => nonZero(byTwoLabels("method", "reason", authFailures)),
  ),
  channelFamily(
    "gauge",
    "pico_wheel_late_seconds",
    [],
    "Longest delay of a connection check in the last minute.",
    ({ wheelLateSeconds }) => singleSample(wheelLateSeconds),
  ),
];

const storeFamilies: readonly MetricFamily[] = [
  storeFamily("gauge", "store_up", [], "1 while conversations can be stored.", ({ health }) =>
    singleSample(health.state === "up" ? 1 : 0),
  ),
  storeFamily("gauge", "store_conversations", [], "Stored conversations.", ({ health }) =>
    singleSample(health.conversations),
  ),
  storeFamily("gauge", "store_bytes", [], "Size of the store on disk.", ({ health }) =>
    singleSample(health.bytes ?? 0),
  ),
  storeFamily("gauge", "store_waiting_bytes", [], "Bytes that wait to be stored.", ({ health }) =>
    singleSample(health.waitingBytes),
  ),
  storeFamily(
    "counter",
    "store_errors_total",
    ["code"],
    "Batches that could not be stored.",
    ({ metrics }) => byLabel("code", metrics.errors),
  ),
  storeFamily(
    "histogram",
    "store_commit_seconds",
    [],
    "Time that batches took.",
    ({ metrics: { commits } }) => histogram(commits),
  ),
];

const sharedStoreFamilies: readonly MetricFamily[] = [
  storeFamily("gauge", "store_nodes", [], "Nodes that share the store.", ({ metrics }) =>
    singleSample(metrics.shared?.nodes ?? 0),
  ),
  storeFamily(
    "counter",
    "store_passed_total",
    [],
    "Messages passed to the application of another node.",
    ({ metrics }) => singleSample(metrics.shared?.passed ?? 0),
  ),
  storeFamily(
    "counter",
    "store_taken_over_total",
    [],
    "Sessions taken over from a node that was gone.",
    ({ metrics }) => singleSample(metrics.shared?.takenOver ?? 0),
  ),
  storeFamily(
    "counter",
    "store_renewed_total",
    [],
    "Sessions whose clients reconnected to a new epoch.",
    ({ metrics }) => singleSample(metrics.shared?.renewed ?? 0),
  ),
];

const questionFamilies: readonly MetricFamily[] = [
  questionFamily(
    "gauge",
    "doorward_questions_open",
    [],
    "Open questions of the application.",
    ({ open }) => singleSample(open),
  ),
  questionFamily(
    "counter",
    "doorward_questions_settled_total",
    ["outcome", "via"],
    "Settled questions, by outcome and where the answer came from.",
    ({ settled }) => settled.map(({ outcome, via, count }) => [{ outcome, via }, count]),
  ),
  questionFamily(
    "histogram",
    "doorward_question_wait_seconds",
    [],
    "Time that answered questions waited.",
    ({ waits }) => histogram(waits),
  ),
];

/** @returns All metrics; those of the channel and of the store only if they are loaded. */
export const familiesFor = ({
  pico,
  questions,
  store,
}: MetricsSnapshot): readonly MetricFamily[] => [
  ...dashboardFamilies,
  ...(pico ? channelFamilies : []),
  ...(questions ? questionFamilies : []),
  ...(store ? storeFamilies : []),
  ...(store?.metrics.shared ? sharedStoreFamilies : []),
];
