/** The list of conversations, with search. @module */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { serverNow } from "../live/clock.ts";
import { later } from "../live/later.ts";
import { LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { Empty } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import type { ConversationActs } from "./acts.ts";
import { formatAge, formatPeriod, formatTitle } from "./dates.ts";
import { foldRows, type ListEntry } from "./fold.ts";
import { filter, FilterMenu, FilterNote, filterRows } from "./list-filter.tsx";
import type { ListRow } from "./list-search.ts";
import { isArchived } from "./state/flags.ts";
import { countUnread } from "./state/seen.ts";
import { pathOf, type ChatStore } from "./state/store.ts";

const searchPart = later(() => import("./list-search.ts"));

const searchDelayMs = 200;

interface ListProps {
  readonly store: ChatStore;
  readonly acts: ConversationActs;
  /** Server time of the document; the first drawing has no local times. */
  readonly isReady: boolean;
}

function rowsOf(store: ChatStore): readonly ListRow[] {
  const { list, names, place } = store;
  const { conversation } = place.value;
  const isOpen = (session: string) => conversation?.session === session;
  const last = conversation?.thread.value.messages.at(-1);
  const isFailed = last?.kind === "user" && last.delivery === "failed";
  const flags = list.flags.value;
  const stored = list.items.value.map((summary): ListRow => {
    const { id, session, channel, title, preview = "", usedAt, door, sender } = summary;
    return {
      id,
      ...(door !== undefined && { door }),
      ...(sender && { sender }),
      isPinned: flags.pinned.includes(id),
      isArchived: isArchived(flags, summary),
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
export function List({ store, acts, isReady }: ListProps): JSX.Element {
  const { url } = useSite();
  const { list } = store;
  const [query, setQuery] = useState("");
  const words = query.trim();
  useEffect(() => {
    const timer = setTimeout(() => {
      if (words === "" || store.list.searches.value) searchPart.use(({ search }) => search(words));
    }, searchDelayMs);
    return () => clearTimeout(timer);
  }, [words]);
  const all = rowsOf(store);
  const found = searchPart.module.value;
  const rows = words === "" || !found ? undefined : found.findRows(store.list, all, words);
  const entries = rows
    ? rows.map((row) => ({ row, rows: [row] }))
    : foldRows(filterRows(all, filter.value));
  const onScroll = ({ currentTarget: box }: { currentTarget: HTMLElement }): void => {
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 300) void store.list.loadMore();
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
            <label class="search">
              <span class="unseen">Search conversations</span>
              <Icon name="search" small />
              <input
                class="input"
                type="search"
                placeholder={store.list.searches.value ? "Search" : "Search titles"}
                maxLength={200}
                value={query}
                onInput={({ currentTarget }) => setQuery(currentTarget.value)}
              />
            </label>
            {list.isStored.value === true && <FilterMenu rows={all} />}
          </div>
        )}
        {words === "" && <FilterNote />}
      </header>
      <div class="scroll" onScroll={onScroll}>
        <Groups entries={entries} store={store} acts={acts} isReady={isReady} />
        {words !== "" && entries.length === 0 && (
          <Empty icon="search" title="No matches">
            No conversation contains “{words}”.
          </Empty>
        )}
        {words === "" && entries.length === 0 && all.length > 0 && (
          <Empty icon="list-filter" title="No matching conversations" />
        )}
      </div>
    </section>
  );
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
              const key = `${row.channel} ${rows.at(-1)!.session}`;
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
  const { row, acts } = props;
  const { id, title } = row;
  return (
    <li class="talk">
      <RowLink {...props} />
      {id !== undefined && (
        <Menu label={`Actions for ${title}`} compact items={acts.menu(id, title, row)} />
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
      <time title={isReady && at > 0 ? formatTitle(at) : undefined}>
        {isReady && at > 0 ? formatAge(at, serverNow()) : ""}
      </time>
      {unread > 0 && (
        <span class="count">
          <span class="unseen">Unread: </span>
          {unread}
        </span>
      )}
    </a>
  );
}
