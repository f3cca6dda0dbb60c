/** The list of conversations, with search. @module */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type {
  ConversationSummary,
  SearchHit,
  SearchView,
} from "../../shared/conversation-views.ts";
import { keyOf } from "../../../../lib/util.ts";
import { dateAndTime } from "../../shared/format.ts";
import { protocolNames } from "../../shared/protocols.ts";
import type { ApiError } from "../live/api.ts";
import { serverNow } from "../live/clock.ts";
import { load } from "../live/owner.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Search } from "../parts/field.tsx";
import { Menu } from "../parts/menu.tsx";
import { Empty, Problem } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { menuOf } from "./acts.tsx";
import { formatAge, formatPeriod } from "./dates.ts";
import type { ConversationList } from "./state/list.ts";
import { countUnread } from "./state/seen.ts";
import { type ChatStore, type ConversationTarget, pathOf } from "./state/store.ts";

const searchDelayMs = 200;

interface ListProps {
  readonly store: ChatStore;
  /** False for the first drawing, which has no local times. */
  readonly isReady: boolean;
}

function rowsOf(store: ChatStore): readonly ListRow[] {
  const { list, names, place } = store;
  const { conversation } = place.value;
  const isOpen = (session: string) => conversation?.session === session;
  const last = conversation?.thread.value.messages.at(-1);
  const isFailed = last?.kind === "user" && last.delivery === "failed";
  const stored = list.items.value.map((summary): ListRow => {
    const {
      id,
      session,
      channel,
      title,
      preview = "",
      usedAt,
      door,
      sender,
      pinned,
      archived,
    } = summary;
    return {
      id,
      ...(door !== undefined && { door }),
      ...(sender && { sender }),
      isPinned: pinned === true,
      isArchived: archived === true,
      session,
      channel,
      title: title || session,
      text: preview,
      at: usedAt,
      unread: isOpen(session) ? 0 : countUnread(list.seen.value, summary),
      isFailed: isOpen(session) && isFailed,
    };
  });
  if (list.isStored.value !== false) return stored;
  const known = new Set(stored.map(({ session }) => session));
  const plain = { channel: "pico", text: "", at: 0, unread: 0, isFailed: false };
  return [
    ...stored,
    ...names.value
      .filter((name) => !known.has(name))
      .map((session) => ({ ...plain, session, title: session })),
  ];
}

/** Draws the list at the start side of the page. */
export function List({ store, isReady }: ListProps): JSX.Element {
  const { url } = useSite();
  const { list } = store;
  const [query, setQuery] = useState("");
  const words = query.trim();
  useEffect(() => {
    const timer = setTimeout(() => {
      if (words === "" || store.list.searches.value) void search(words);
      if (words !== "" && store.list.isStored.value === true) void store.list.findNames(words);
    }, searchDelayMs);
    return () => clearTimeout(timer);
  }, [words]);
  const all = rowsOf(store);
  const entries =
    words === ""
      ? foldRows(filterRows(all, filter.value))
      : findRows(list, all, words).map((row) => ({ row, rows: [row] }));
  const onScroll = ({ currentTarget: box }: { currentTarget: HTMLElement }): void => {
    if (box.scrollHeight - box.scrollTop - box.clientHeight >= 300) return;
    void (filter.value === "archived" ? list.loadFlagged("archived") : list.loadMore());
  };
  return (
    <section class="list" aria-label="Conversations">
      <header>
        <div class="row">
          <h2>Conversations</h2>
          <LinkButton
            href={url("/chat/new")}
            icon="plus"
            compact
            onClick={(event) => {
              if (isPlainClick(event)) {
                event.preventDefault();
                store.openNew();
              }
            }}
          >
            New
          </LinkButton>
        </div>
        {all.length > 0 && (
          <div class="find">
            <Search
              label="Search conversations"
              placeholder={list.searches.value ? "Search" : "Search titles"}
              maxLength={200}
              value={query}
              onText={setQuery}
              data-main-field={undefined}
            />
            {list.isStored.value === true && <FilterMenu rows={all} list={list} />}
          </div>
        )}
        {words === "" && <FilterNote />}
        {list.removing.value > 0 && (
          <p class="hint">Deleted conversations are being removed from the disk.</p>
        )}
      </header>
      <div class="scroll" onScroll={onScroll}>
        <Groups entries={entries} store={store} isReady={isReady} />
        {words !== "" && problem.value && (
          <Problem
            title="The messages could not be searched"
            error={problem.value}
            retry={() => search(words)}
          />
        )}
        {words !== "" && entries.length === 0 && !problem.value && (
          <Empty icon="search" title="No matches">
            {!list.searches.value
              ? `No title contains “${words}”.`
              : `No conversation contains “${words}”.`}
            {/[*]/.test(words) && " The beginning of a word needs three letters: gar*."}
          </Empty>
        )}
        {words === "" && entries.length === 0 && <NoRows hasOthers={all.length > 0} list={list} />}
      </div>
    </section>
  );
}

type NoRowsProps = { readonly hasOthers: boolean; readonly list: ListProps["store"]["list"] };

function NoRows({ hasOthers, list }: NoRowsProps): JSX.Element | null {
  if (hasOthers) return <Empty icon="list-filter" title="No matching conversations" />;
  // Until it is known, there may be some.
  if (list.isStored.value === undefined) return null;
  return <Empty icon="message-square" title="No conversations yet" />;
}

type GroupsProps = ListProps & { readonly entries: readonly ListEntry[] };

function Groups({ entries, ...common }: GroupsProps): JSX.Element {
  const { isReady } = common;
  const groups = useMemo(() => {
    const now = serverNow();
    const byName = new Map<string, ListEntry[]>();
    for (const entry of entries) {
      const { at, isPinned } = entry.row;
      const period = at === 0 ? "In this browser" : formatPeriod(at, now);
      const name = isPinned ? "Pinned" : isReady ? period : "";
      byName.set(name, [...(byName.get(name) ?? []), entry]);
    }
    const first = ([name]: readonly [string, unknown]): number => (name === "Pinned" ? 0 : 1);
    return [...byName].toSorted((a, b) => first(a) - first(b));
  }, [entries, isReady]);
  return (
    <>
      {groups.map(([name, items]) => (
        <div key={name}>
          <h3>{name || "\u00a0"}</h3>
          <ul>
            {items.map(({ row, rows }) => {
              const key = keyOf(row.channel, rows.at(-1)!.session);
              return rows.length === 1 ? (
                <RowView key={key} row={row} {...common} />
              ) : (
                <FoldView key={key} row={row} rows={rows} {...common} />
              );
            })}
          </ul>
        </div>
      ))}
    </>
  );
}

const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

type RowProps = ListProps & { readonly row: ListRow };

/** Several requests of a client that continue one another. */
function FoldView({ row, rows, ...common }: RowProps & ListEntry): JSX.Element {
  return (
    <li>
      <div class="talk">
        <RowLink row={row} {...common} />
      </div>
      <details class="fold">
        <summary>{rows.length} requests</summary>
        <ul>
          {rows.map((each) => (
            <RowView key={each.session} row={each} {...common} />
          ))}
        </ul>
      </details>
    </li>
  );
}

function RowView(props: RowProps): JSX.Element {
  const { row, store } = props;
  const { url } = useSite();
  const { id, title } = row;
  return (
    <li class="talk">
      <RowLink {...props} />
      {id !== undefined && (
        <Menu label={`Actions for ${title}`} compact items={menuOf(store, url, id, title, row)} />
      )}
    </li>
  );
}

function RowLink({ row, store, isReady }: RowProps): JSX.Element {
  const { url } = useSite();
  const { title, text, at, unread, isFailed, session, seq } = row;
  const { conversation } = store.place.value;
  const isCurrent =
    conversation !== undefined &&
    (conversation.isReadOnly
      ? conversation.history.value.id === row.id
      : conversation.session === session && row.channel === "pico");
  return (
    <a
      href={url(pathOf(row))}
      aria-current={isCurrent ? "page" : undefined}
      onClick={(event) => {
        if (!isPlainClick(event)) return;
        event.preventDefault();
        store.open(row, seq);
      }}
    >
      <b class="cut" dir="auto">
        {title}
      </b>
      <p class={`cut${isFailed ? " bad" : ""}`} dir="auto">
        {isFailed ? "Not delivered" : text || "\u00a0"}
      </p>
      <time title={isReady && at > 0 ? dateAndTime(at) : undefined}>
        {isReady && at > 0 ? formatAge(at, serverNow()) : ""}
      </time>
      {unread > 0 && (
        <span class="count">
          <span class="unseen">Unread: </span>
          {unread > 99 ? "99+" : unread}
        </span>
      )}
    </a>
  );
}

const hits = signal<readonly SearchHit[]>([]);
const problem = signal<ApiError | undefined>(undefined);

/** Searches the text of messages. Empty words remove the results. */
async function search(words: string): Promise<void> {
  if (words === "") {
    hits.value = [];
    problem.value = undefined;
    return;
  }
  const query = new URLSearchParams({ q: words.slice(0, 200) });
  problem.value = await load<SearchView>(`/api/conversations/search?${query}`, (view) => {
    hits.value = view.hits;
  });
  if (problem.value) hits.value = [];
}

/** @returns The rows of a search: titles first, then messages. */
function findRows(
  list: ConversationList,
  rows: readonly ListRow[],
  query: string,
): readonly ListRow[] {
  const words = query.toLowerCase();
  const titles = rows.filter(({ title, session }) =>
    [title, session].some((name) => name.toLowerCase().includes(words)),
  );
  const shown = new Set(titles.map(({ id }) => id));
  const messages = hits.value
    .filter(({ conversation: { id } }) => !shown.has(id) && !list.isHidden(id))
    .map(({ conversation: { id, session, channel, title }, turn, excerpt }): ListRow => {
      const { at, seq } = turn;
      const row = { id, session, channel, text: excerpt, at, seq, unread: 0, isFailed: false };
      return { ...row, title: title || session };
    });
  return [...titles, ...messages];
}

/** The list shows everything, one of these, or the conversations of one client. */
type Filter = "all" | "unread" | "archived" | { readonly from: string };

const filter = signal<Filter>("all");

const clients: Readonly<Record<string, string>> = {
  owner: "This dashboard",
  "token:pico": "Clients with the channel token",
};

/** Names the client or the protocol that a conversation came from. */
function originOf({ door, sender, channel }: ListRow): string | undefined {
  const protocol = protocolNames.find(({ name }) => name === door || name === channel);
  if (protocol) return protocol.title;
  if (sender === undefined) return undefined;
  return sender.name ?? clients[sender.id] ?? sender.id;
}

const namesOf = { all: "All", unread: "Unread", archived: "Archived" } as const;
const nameOf = (chosen: Filter): string =>
  typeof chosen === "string" ? namesOf[chosen] : chosen.from;

/** Archived conversations are shown only if they are asked for. */
function filterRows(rows: readonly ListRow[], chosen: Filter): readonly ListRow[] {
  if (chosen === "archived") return rows.filter(({ isArchived }) => isArchived);
  const present = rows.filter(({ isArchived }) => !isArchived);
  if (chosen === "all") return present;
  if (chosen === "unread") return present.filter(({ unread }) => unread > 0);
  return present.filter((row) => originOf(row) === chosen.from);
}

interface FilterMenuProps {
  readonly rows: readonly ListRow[];
  readonly list: ConversationList;
}

/** The menu with the filters, and their names. */
function FilterMenu({ rows, list }: FilterMenuProps): JSX.Element {
  const origins = [...new Set(rows.flatMap((row) => originOf(row) ?? []))].toSorted();
  const item = (chosen: Filter) => ({
    name: nameOf(chosen),
    icon: nameOf(chosen) === nameOf(filter.value) ? "check" : "list-filter",
    act: () => {
      filter.value = chosen;
      if (chosen === "archived") void list.loadFlagged(chosen);
    },
  });
  return (
    <Menu
      label="Filter conversations"
      icon="list-filter"
      items={[
        item("all"),
        item("unread"),
        ...(origins.length > 1 ? (["-", ...origins.map((from) => item({ from }))] as const) : []),
        ...(list.keepsFlags.value ? (["-", item("archived")] as const) : []),
      ]}
    />
  );
}

/** Names the filter that is on, and turns it off. */
function FilterNote(): JSX.Element | null {
  if (filter.value === "all") return null;
  return (
    <p class="filter-note" role="status">
      <span class="grow cut">{nameOf(filter.value)}</span>
      <Button kind="ghost" compact onClick={() => void (filter.value = "all")}>
        Show all
      </Button>
    </p>
  );
}

/** Content of a row. */
interface ListRow extends ConversationTarget, Pick<ConversationSummary, "door" | "sender"> {
  readonly title: string;
  readonly text: string;
  /** Unix milliseconds; 0 if unknown. */
  readonly at: number;
  readonly unread: number;
  readonly isFailed: boolean;
  readonly isPinned?: boolean;
  readonly isArchived?: boolean;
  /** Message to show, in results of a search. */
  readonly seq?: number;
}

/** Names that the OpenAI protocol gives: `ROOT`, and `ROOT~RANDOM` for those that continue it. The
 *  names of the protocol and of a person may precede them. */
const rootPattern = /^((?:.*\/)?[0-9a-f]{32})(?:~[0-9a-f]{16})?$/;

/** One entry: a conversation, or the newest of several. */
interface ListEntry {
  readonly row: ListRow;
  /** All conversations of the entry, the newest first. One in most entries. */
  readonly rows: readonly ListRow[];
}

/** @param rows - The newest first. */
export function foldRows(rows: readonly ListRow[]): readonly ListEntry[] {
  const entries = new Map<string, ListRow[]>();
  for (const row of rows) {
    const [, root] = (row.channel === "pico" && rootPattern.exec(row.session)) || [];
    const key = root === undefined ? keyOf(row.channel, row.session) : keyOf(root);
    const known = entries.get(key);
    if (known) known.push(row);
    else entries.set(key, [row]);
  }
  return [...entries.values()].map((found) => ({ row: toHead(found), rows: found }));
}

/** The newest conversation, with the title of the first one. */
function toHead(rows: readonly ListRow[]): ListRow {
  const [newest] = rows;
  const unread = rows.reduce((sum, row) => sum + row.unread, 0);
  return { ...newest!, title: rows.at(-1)!.title, unread };
}
