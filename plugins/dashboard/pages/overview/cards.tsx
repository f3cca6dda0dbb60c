/** The cards of the overview whose code loads after the page. @module */
import { Fragment, type ComponentChildren, type JSX } from "preact";
import type {
  ConnectionView,
  ConnectionsView,
  ProgramView,
  StatusView,
} from "../../shared/views.ts";
import { Card } from "../parts/card.tsx";
import { Table } from "../parts/table.tsx";
import { Badge, Notice } from "../parts/states.tsx";
import { Icon } from "../parts/icon.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { actsWithoutAsking } from "../../shared/application-modes.ts";
import { formatCount } from "../../shared/format.ts";
import { visibleText } from "../../shared/visible-text.ts";
import { browserLabel } from "../../shared/client-labels.ts";
import { programStates, type BadgeTone } from "./attention.tsx";

export { Attention } from "./attention.tsx";
export { Guide } from "./guide.tsx";
export { OtherChannels } from "../parts/other-channels.tsx";
export { Traffic } from "./traffic.tsx";

type Application = NonNullable<StatusView["application"]>;

interface ShownState {
  readonly tone: BadgeTone;
  readonly text: string;
}

const applicationStates: Readonly<Record<Application["state"], ShownState>> = {
  ready: { tone: "ok", text: "Ready" },
  starting: { tone: "warn", text: "Starting" },
  needs_action: { tone: "warn", text: "Needs you" },
  failed: { tone: "bad", text: "Failed" },
};

/** The status of the application as names and values. */
function statusRows(application: Application): Row[] {
  const { name, message, mode, modes = [], commands = [], counts = [] } = application;
  const shown = modes.find(({ id }) => id === mode);
  const listed = commands.length === 0 ? undefined : formatCount(commands.length);
  return [
    ["Name", name],
    ["State", message],
    ["Mode", shown?.name ?? mode],
    ["Commands", listed && `${listed}, in the chat with /`],
    ...counts.map(({ label, value }): Row => [label, formatCount(value)]),
  ];
}

/** Says in red that the application may act without asking in its present mode. */
function ModeWarning({ application }: { readonly application: Application }): JSX.Element | null {
  const { mode, modes = [] } = application;
  if (mode === undefined) return null;
  const present = modes.find(({ id }) => id === mode) ?? { id: mode, name: mode };
  if (!actsWithoutAsking(present)) return null;
  const text = `In the mode ${visibleText(present.name)}, the application may act without asking.`;
  return <Notice tone="bad">{text}</Notice>;
}

/** An application of a host, or a bridge, without a process of its own. */
export function StatusCard({ application }: { readonly application: Application }): JSX.Element {
  return (
    <StateCard state={applicationStates[application.state]}>
      <Rows rows={statusRows(application)} />
      <ModeWarning application={application} />
    </StateCard>
  );
}

interface StateCardProps {
  readonly state: ShownState;
  readonly children: ComponentChildren;
}

const StateCard = ({ state: { tone, text }, children }: StateCardProps): JSX.Element => (
  <Card
    id="application"
    title="Application"
    kind="application"
    end={<Badge tone={tone}>{text}</Badge>}
  >
    <div class="body stack">{children}</div>
  </Card>
);

/** A row without a value is left out. */
type Row = readonly [name: string, value: ComponentChildren];

const Rows = ({ rows }: { readonly rows: readonly Row[] }): JSX.Element => (
  <dl class="kv">
    {rows.map(
      ([name, value]) =>
        value !== undefined && (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
);

interface ApplicationCardProps {
  readonly program: ProgramView;
  readonly application: Application | undefined;
}

/** State, process, work and standard error of the program. */
export function ApplicationCard({ program, application }: ApplicationCardProps): JSX.Element {
  const command = <code dir="ltr">{program.command}</code>;
  return (
    <StateCard state={programStates[program.state]}>
      <Rows rows={[["Command", command], ...programDetails(program)]} />
      {application && <Rows rows={statusRows(application)} />}
      {application && <ModeWarning application={application} />}
      <div class="stack">
        <h3 id="stderr">Recent stderr output</h3>
        {program.stderr.length === 0 ? (
          <p class="hint">No output on stderr yet.</p>
        ) : (
          <ol class="stderr" dir="ltr" tabIndex={0} aria-labelledby="stderr">
            {program.stderr.map((line, at) => (
              <li key={at}>{line.text}</li>
            ))}
          </ol>
        )}
      </div>
    </StateCard>
  );
}

/** Returns the rows of the program card as names and values. */
function programDetails(program: ProgramView): Row[] {
  const { pid, restarts, lastEnd, inWork, queued, answered, failed, stopped } = program;
  const settled = [
    `${formatCount(answered)} answered`,
    `${formatCount(failed)} failed`,
    ...(stopped > 0 ? [`${formatCount(stopped)} stopped`] : []),
  ];
  return [
    ["Process", pid],
    [
      "Restarts",
      lastEnd === undefined
        ? formatCount(restarts)
        : `${formatCount(restarts)}, last exit: ${lastEnd}`,
    ],
    ["Messages", settled.join(", ")],
    ["Now", `${formatCount(inWork)} in progress, ${formatCount(queued)} queued`],
    ["Stop", program.knowsStop ? "Supported" : "Not supported by this program"],
  ];
}

export function ConnectionsCard({ view, now }: { view: ConnectionsView; now: number }) {
  const { url } = useSite();
  const { total, connections } = view;
  return (
    <Card
      id="newest"
      title="Connections"
      end={total > 0 && <a href={url("/clients/connections")}>All {formatCount(total)}</a>}
    >
      {connections.length === 0 ? (
        <p class="body hint">No clients connected. Clients appear here as soon as they connect.</p>
      ) : (
        <Table label="Newest connections" columns={[["Client"], ["Address"], ["Connected", "end"]]}>
          {connections.map((connection) => (
            <Row key={connection.id} connection={connection} now={now} />
          ))}
        </Table>
      )}
    </Card>
  );
}

function Row({ connection, now }: { connection: ConnectionView; now: number }): JSX.Element {
  const { userAgent, method, address, since } = connection;
  const isPage = method === "dashboard";
  return (
    <tr>
      <td>
        <span class="row">
          <Icon name={isPage ? "globe" : "plug"} small />
          <b class="cut">{isPage ? "Dashboard" : browserLabel(userAgent ?? "") || address}</b>
        </span>
      </td>
      <td dir="ltr">{address}</td>
      <td class="end num">
        <Ago at={since} now={now} />
      </td>
    </tr>
  );
}

interface NodesCardProps {
  readonly nodes: NonNullable<NonNullable<StatusView["store"]>["nodes"]>;
  readonly now: number;
}

const states = {
  up: ["ok", "Running"],
  away: ["warn", "Not responding"],
  gone: ["bad", "Gone"],
} as const;

export function NodesCard({ nodes, now }: NodesCardProps): JSX.Element {
  const different = nodes.filter(({ differs }) => differs);
  return (
    <Card id="nodes" title="Nodes">
      {different.length > 0 && (
        <div class="body">
          <Notice tone="warn">
            The channel has other settings on {different.map(({ name }) => name).join(", ")}. Use
            the same settings on all nodes.
          </Notice>
        </div>
      )}
      <Table
        label="Nodes of the shared store"
        columns={[["Node"], ["State"], ["Sessions", "end"], ["Last seen", "end"]]}
      >
        {nodes.map(({ id, name, state, sessions, lastSeenAt, isSelf }) => (
          <tr key={id}>
            <td>
              <b class="cut">{name}</b>
            </td>
            <td>
              <Badge tone={states[state][0]}>{states[state][1]}</Badge>
            </td>
            <td class="end num">{formatCount(sessions)}</td>
            <td class="end num">{isSelf ? "This node" : <Ago at={lastSeenAt} now={now} />}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
