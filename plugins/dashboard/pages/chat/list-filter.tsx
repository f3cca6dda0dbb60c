/** Chooses which conversations the list shows. @module */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { protocolNames } from "../../shared/protocols.ts";
import { Button } from "../parts/button.tsx";
import { Menu } from "../parts/menu.tsx";
import type { ListRow } from "./list-search.ts";

/** The list shows everything, one of these, or the conversations of one client. */
type Filter = "all" | "unread" | "archived" | { readonly from: string };

export const filter = signal<Filter>("all");

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
export function filterRows(rows: readonly ListRow[], chosen: Filter): readonly ListRow[] {
  if (chosen === "archived") return rows.filter(({ isArchived }) => isArchived);
  const present = rows.filter(({ isArchived }) => !isArchived);
  if (chosen === "all") return present;
  if (chosen === "unread") return present.filter(({ unread }) => unread > 0);
  return present.filter((row) => originOf(row) === chosen.from);
}

/** The menu with the filters, and their names. */
export function FilterMenu({ rows }: { readonly rows: readonly ListRow[] }): JSX.Element {
  const origins = [...new Set(rows.flatMap((row) => originOf(row) ?? []))].toSorted();
  const item = (chosen: Filter) => ({
    name: nameOf(chosen),
    icon: nameOf(chosen) === nameOf(filter.value) ? "check" : "list-filter",
    act: () => void (filter.value = chosen),
  });
  return (
    <Menu
      label="Filter conversations"
      icon="list-filter"
      items={[
        item("all"),
        item("unread"),
        ...(origins.length > 1 ? (["-", ...origins.map((from) => item({ from }))] as const) : []),
        "-",
        item("archived"),
      ]}
    />
  );
}

/** Names the filter that is on, and turns it off. */
export function FilterNote(): JSX.Element | null {
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
