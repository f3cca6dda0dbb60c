/** Clients page, tab Connections. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ClientsTabs } from "../clients/tabs.tsx";
import type { FeedEvents } from "../../shared/feed-views.ts";
import type { ChannelsView, ConnectionView, ConnectionsView } from "../../shared/views.ts";
import { confirm } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { second } from "../live/clock.ts";
import { requestAsOwner } from "../live/owner.ts";
import { useResource } from "../live/resource.ts";
import { subscribe } from "../live/stream.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Table } from "../parts/table.tsx";
import { Search } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { OtherChannels } from "../parts/other-channels.tsx";
import { Empty, Problem, Skeleton } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { formatBytes, formatCount } from "../../shared/format.ts";
import { browserLabel } from "../../shared/client-labels.ts";

/** Data of the page. */
export interface ConnectionsData {
  /** Number of open connections. */
  readonly count: number;
  /** The most connections that the channel accepts; undefined without a channel. */
  readonly max?: number | undefined;
  /** Channels of other authors; absent if there are none. */
  readonly others?: NonNullable<ChannelsView["others"]>;
}

export function ConnectionsPage({ data }: { readonly data: ConnectionsData }): JSX.Element {
  const [count, setCount] = useState(data.count);
  const { value } = useResource<Pick<ChannelsView, "others">>("/api/channels", data, {
    refreshOn: ["rate"],
  });
  const { others } = value.value;
  return (
    <div class="page-in">
      <ClientsTabs tab="connections" count={count} />
      <Connections onCount={setCount} max={data.max} />
      {others && <OtherChannels channels={others} />}
    </div>
  );
}

const pageSize = 100;
const typingMs = 200;

interface ConnectionsProps {
  /** Tells the tab how many connections are open. */
  readonly onCount: (count: number) => void;
  /** The most connections that the channel accepts. */
  readonly max: number | undefined;
}

function Connections({ onCount, max }: ConnectionsProps): JSX.Element {
  const [typed, setTyped] = useState("");
  const [text, setText] = useState("");
  const [offset, setOffset] = useState(0);
  const parameters = new URLSearchParams({
    offset: String(offset),
    limit: String(pageSize),
    text: text.trim(),
  });
  const { value, error, refresh } = useResource<ConnectionsView | undefined>(
    `/api/connections?${parameters}`,
    undefined,
    { refreshOn: ["connected", "disconnected", "rate"] },
  );
  const view = value.value;
  useEffect(() => {
    const timer = setTimeout(() => {
      setText(typed);
      setOffset(0);
    }, typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (!view) return;
    if (text.trim() === "") onCount(view.total);
    // The shown page may no longer exist.
    if (offset > 0 && view.connections.length === 0)
      setOffset(Math.floor(Math.max(0, view.total - 1) / pageSize) * pageSize);
  }, [view]);
  return (
    <section class="card" aria-label="Connections">
      <header class="wrap">
        <Search
          label="Filter connections"
          placeholder="Filter by client, conversation or address"
          maxLength={200}
          autocomplete="off"
          value={typed}
          onText={setTyped}
        />
        <Rates />
        {view && max !== undefined && (
          <span class="muted small num">
            {formatCount(view.total)} of {formatCount(max)}
          </span>
        )}
      </header>
      {!view && !error.value && <Skeleton rows={5} />}
      {!view && error.value && (
        <Problem title="The connections could not be loaded." error={error.value} retry={refresh} />
      )}
      {view && view.connections.length === 0 && <NoConnections isFiltered={text.trim() !== ""} />}
      {view && view.connections.length > 0 && (
        <>
          <Table label="Table of connections" columns={columns} kind="cards">
            {view.connections.map((connection) => (
              <ConnectionRow key={connection.id} connection={connection} refresh={refresh} />
            ))}
          </Table>
          <Pager
            offset={offset}
            shown={view.connections.length}
            total={view.total}
            go={setOffset}
          />
        </>
      )}
    </section>
  );
}

/** Messages per second and queued bytes of all connections. */
function Rates(): JSX.Element | null {
  const [rate, setRate] = useState<FeedEvents["rate"]>();
  useEffect(() => subscribe({ on: { rate: setRate } }), []);
  if (!rate) return null;
  return (
    <span class="muted small num rates">
      {`${formatCount(rate.in)} in/s · ${formatCount(rate.out)} out/s · `}
      {`${formatBytes(rate.queuedBytes)} queued`}
    </span>
  );
}

function NoConnections({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  const { url } = useSite();
  if (isFiltered)
    return (
      <Empty icon="search" title="No matching connections">
        Try another word.
      </Empty>
    );
  return (
    <Empty
      icon="plug"
      title="No clients connected"
      action={
        <LinkButton kind="primary" href={url("/clients")}>
          Connect a client
        </LinkButton>
      }
    >
      Clients appear here as soon as they connect.
    </Empty>
  );
}

const columns = [
  ["Client"],
  ["Conversation"],
  ["Address"],
  ["Authenticated by"],
  ["In / out", "end"],
  ["Connected", "end"],
  [
    <span key="actions" class="unseen">
      Actions
    </span>,
  ],
] as const;

/** Methods with another label than their name. */
const methods: Readonly<Record<string, string>> = {
  query: "token in URL",
  dashboard: "this dashboard",
};

/** Name of a client: product and system of its user agent, else its address. */
const clientName = ({ userAgent, address, method }: ConnectionView): string =>
  (method === "dashboard" && "This dashboard") || browserLabel(userAgent ?? "") || address;

const clientIcon = ({ userAgent = "", method }: ConnectionView): string => {
  if (method === "dashboard") return "message-square";
  if (/Android|iPhone|iPad/.test(userAgent)) return "smartphone";
  return /Mozilla/.test(userAgent) ? "globe" : "terminal";
};

interface RowProps {
  readonly connection: ConnectionView;
  readonly refresh: () => Promise<unknown>;
}

function ConnectionRow({ connection, refresh }: RowProps): JSX.Element {
  const { url } = useSite();
  const { session, title, address, origin, userAgent, since, lastHeardAt } = connection;
  const { messagesIn, messagesOut, queuedBytes } = connection;
  const now = second.value;
  return (
    <tr>
      <td>
        <span class="row">
          <Icon name={clientIcon(connection)} small />
          <b title={userAgent}>{clientName(connection)}</b>
        </span>
        {origin !== undefined && <span class="muted xs">{origin}</span>}
      </td>
      <td class="muted" title={`Connection ${connection.id}`}>
        {title === undefined ? (
          session
        ) : (
          <a href={url(`/chat/${encodeURIComponent(session)}`)}>{title === "" ? session : title}</a>
        )}
      </td>
      <td class="mono">{address}</td>
      <td class="muted">
        {methods[connection.method] ?? connection.method}
        <Person connection={connection} />
      </td>
      <td class="end num">
        <span class="phone-only">In / out </span>
        {formatCount(messagesIn)} / {formatCount(messagesOut)}
        {queuedBytes > 0 && <span class="muted xs">{formatBytes(queuedBytes)} queued</span>}
      </td>
      <td class="end num muted">
        <span class="phone-only">Connected </span>
        <Ago at={since} now={now} />
        <span class="xs">
          active <Ago at={lastHeardAt} now={now} />
        </span>
      </td>
      <td class="end">
        <ConnectionMenu connection={connection} refresh={refresh} />
      </td>
    </tr>
  );
}

/** The person, if a host identified one. */
function Person({ connection: { user, userName } }: { readonly connection: ConnectionView }) {
  const person = /^host:(.*)$/s.exec(user)?.[1];
  return person === undefined ? null : (
    <span class="xs" title={user}>
      {userName ?? person}
    </span>
  );
}

function ConnectionMenu({ connection, refresh }: RowProps): JSX.Element {
  const { url } = useSite();
  const { id, address, session } = connection;
  const name = clientName(connection);
  const disconnect = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Disconnect ${name}?`,
      text: "The client won't reconnect automatically.",
      verb: "Disconnect",
      danger: true,
    });
    if (!isSure) return;
    const answer = await requestAsOwner("DELETE", `/api/connections/${encodeURIComponent(id)}`);
    if (!("error" in answer)) toast({ text: `${name} disconnected` });
    else if (answer.error.status === 404) toast({ text: `${name} was already disconnected` });
    else toast({ text: answer.error.message, tone: "bad" });
    await refresh();
  };
  return (
    <Menu
      compact
      label={`Actions for ${name}, ${session}`}
      items={[
        {
          name: "Show in activity",
          icon: "scroll-text",
          href: url(`/activity?q=${encodeURIComponent(`address:${address}`)}`),
        },
        "-",
        { name: "Disconnect…", icon: "unplug", danger: true, act: disconnect },
      ]}
    />
  );
}

interface PagerProps {
  readonly offset: number;
  readonly shown: number;
  readonly total: number;
  readonly go: (offset: number) => void;
}

/** Hidden if all connections fit on one page. */
function Pager({ offset, shown, total, go }: PagerProps): JSX.Element | null {
  if (offset === 0 && shown >= total) return null;
  const end = offset + shown;
  return (
    <footer class="pager">
      <p class="muted small num" role="status">
        {formatCount(offset + 1)} to {formatCount(end)} of {formatCount(total)}
      </p>
      <Button compact disabled={offset === 0} onClick={() => go(Math.max(0, offset - pageSize))}>
        Previous
      </Button>
      <Button compact disabled={end >= total} onClick={() => go(offset + pageSize)}>
        Next
      </Button>
    </footer>
  );
}
