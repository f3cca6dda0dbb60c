// Conversations page: lists, searches, shows, renames, exports and deletes conversations.
import type {
  ConversationsView,
  ConversationSummary,
  ConversationView,
  SearchHit,
  SearchView,
} from "../api/conversation-views.ts";
import { formatCount } from "../ui/text/format.ts";
import type { ApiError } from "./api.ts";
import { createTranscript, type Transcript } from "./chat-messages.ts";
import { base, el, live, onClick, setLive, setRows, show } from "./dom.ts";
import { load, requestAsOwner } from "./owner.ts";
import { startPage } from "./page.ts";
import { ask } from "./prompt.ts";
import { startStream } from "./stream.ts";
import { timeAgo } from "./times.ts";

/** The conversation that the page shows. */
interface OpenConversation {
  summary: ConversationSummary;
  readonly transcript: Transcript;
  /** Cursor of the turns before those shown; undefined if there are none. */
  before: string | undefined;
  /** Number of the last turn shown. */
  last: number;
  /** False after a search result was opened, until all later turns are shown. */
  isAtEnd: boolean;
}

const api = "/api/conversations";
/** Turns that a search result is shown with, before and after it. */
const turnsAfterHit = 20;
const search = document.querySelector<HTMLInputElement>("#search")!;
const element = <K extends HTMLElement = HTMLButtonElement>(name: string): K =>
  document.querySelector<K>(`[data-${name}]`)!;
const [more, earlier, later] = [element("more"), element("earlier"), element("later")];
const messages = live("messages")!;

/** All loaded summaries by id. */
const known = new Map<string, ConversationSummary>();
let nextPage: string | undefined;
let hits: readonly SearchHit[] | undefined;
let current: OpenConversation | undefined;
let opened = 0;

startPage();
const stream = startStream({
  refresh,
  refreshOn: ["connected", "disconnected", "rate"],
});
void openFromUrl();
addEventListener("hashchange", () => void openFromUrl());
let typing: ReturnType<typeof setTimeout> | undefined;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => void stream.refresh(), 200);
});

async function refresh(): Promise<ApiError | undefined> {
  const error = await load<ConversationsView>(api, showList);
  const words = search.value.trim();
  const searchError = words === "" ? undefined : await find(words);
  if (words === "") hits = undefined;
  const problem = error ?? searchError;
  setLive("problem", problem === undefined || problem.status === 401 ? "" : problem.message);
  showRows();
  const summary = current && known.get(current.summary.id);
  if (current && summary && summary.usedAt !== current.summary.usedAt) await loadNew(current);
  // The store keeps no list: another attempt has the same result.
  return error?.code === "not_supported" ? undefined : error;
}

const find = (words: string): Promise<ApiError | undefined> =>
  load<SearchView>(`${api}/search?${new URLSearchParams({ q: words })}`, (view) => {
    ({ hits } = view);
  });

/** Replaces the first page and keeps older conversations that were loaded. */
function showList({ conversations, before, store }: ConversationsView): void {
  const oldest = before === undefined ? -Infinity : conversations.at(-1)!.usedAt;
  const isFirst = known.size <= conversations.length;
  for (const { id, usedAt } of known.values()) if (usedAt >= oldest) known.delete(id);
  for (const summary of conversations) known.set(summary.id, summary);
  if (isFirst) nextPage = before;
  show(live("searching"), store.searches);
}

onClick(more, async () => {
  if (nextPage === undefined) return;
  const path = `${api}?${new URLSearchParams({ before: nextPage })}`;
  const answer = await requestAsOwner<ConversationsView>("GET", path);
  if ("error" in answer) return setLive("problem", answer.error.message);
  for (const summary of answer.body.conversations) known.set(summary.id, summary);
  nextPage = answer.body.before;
  showRows();
});

function showRows(): void {
  const isSearch = hits !== undefined;
  const listed = [...known.values()].sort((a, b) => b.usedAt - a.usedAt);
  const rows = hits
    ? hits.map(({ conversation, turn, excerpt }) => ({
        summary: conversation,
        hash: `${conversation.id}/${turn.seq}`,
        note: excerpt,
      }))
    : listed.map((summary) => ({ summary, hash: summary.id, note: summary.session }));
  const key = [rows, current?.summary.id];
  setRows(live("rows"), key, () => rows.map(row));
  show(live("none"), rows.length === 0);
  setLive("none", isSearch ? "No message contains these words." : "No conversations yet.");
  show(more, !isSearch && nextPage !== undefined);
}

interface ListRow {
  readonly summary: ConversationSummary;
  readonly hash: string;
  readonly note: string;
}

function row({ summary: { id, title, session, usedAt }, hash, note }: ListRow): HTMLElement {
  const link = el(
    "a",
    {
      href: `${base}/conversations#${hash}`,
      ...(id === current?.summary.id && { "aria-current": "true" }),
    },
    el("b", { title }, title || session),
    el("small", {}, note),
    el("small", {}, timeAgo(usedAt)),
  );
  return el("li", {}, link);
}

/** Opens the conversation of `#ID`, or of `#ID/SEQ` at this turn. */
async function openFromUrl(): Promise<void> {
  const [, id, seq] = /^#([\w-]{1,64})(?:\/(\d{1,15}))?$/.exec(location.hash) ?? [];
  if (id === undefined) return close();
  const number = ++opened;
  const before = seq === undefined ? undefined : `:${Number(seq) + turnsAfterHit}`;
  const answer = await requestAsOwner<ConversationView>("GET", pathOf(id, { before }));
  if (number !== opened) return;
  if ("error" in answer) {
    close();
    return setLive("said", answer.error.message);
  }
  const { conversation, turns } = answer.body;
  setLive("said", "");
  const transcript = createTranscript();
  transcript.addHistory(turns);
  messages.querySelector(".transcript")?.remove();
  earlier.after(transcript.list);
  current = {
    summary: conversation,
    transcript,
    before: answer.body.before,
    last: turns.at(-1)?.seq ?? 0,
    isAtEnd: seq === undefined,
  };
  if (!current.isAtEnd) await loadLater(current);
  showConversation(current);
  const hit = turns.find((turn) => turn.seq === Number(seq));
  const found = hit && transcript.find(hit);
  found?.classList.add("found");
  if (found) found.scrollIntoView({ block: "center" });
  else messages.scrollTop = messages.scrollHeight;
  if (matchMedia("(max-width: 56rem)").matches) live("talk")!.scrollIntoView();
}

function pathOf(id: string, options: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) if (value) query.set(name, value);
  return `${api}/${id}?${query}`;
}

function close(): void {
  opened += 1;
  current = undefined;
  show(live("talk"), false);
  show(live("closed"), true);
  showRows();
}

function showConversation(shown: OpenConversation): void {
  const { id, title, session, channel, turns, createdAt } = shown.summary;
  setLive("title", title || session);
  const since = new Date(createdAt).toLocaleDateString();
  const count = `${formatCount(turns)} ${turns === 1 ? "message" : "messages"}`;
  setLive("about", `Session ${session} of ${channel} · ${count} since ${since}`);
  const chat = element<HTMLAnchorElement>("continue");
  chat.href = `${base}/chat#${encodeURIComponent(session)}`;
  show(chat, channel === "pico");
  for (const link of document.querySelectorAll<HTMLAnchorElement>("[data-export]"))
    link.href = `${base}${api}/${id}/export?format=${link.dataset["export"]}`;
  show(earlier, shown.before !== undefined);
  show(later, !shown.isAtEnd);
  show(live("talk"), true);
  show(live("closed"), false);
  showRows();
}

onClick(earlier, async () => {
  const shown = current;
  if (shown?.before === undefined) return;
  const path = pathOf(shown.summary.id, { before: shown.before });
  const answer = await requestAsOwner<ConversationView>("GET", path);
  if (shown !== current) return;
  if ("error" in answer) return setLive("said", answer.error.message);
  const height = messages.scrollHeight;
  shown.transcript.addHistory(answer.body.turns);
  shown.before = answer.body.before;
  show(earlier, shown.before !== undefined);
  messages.scrollTop += messages.scrollHeight - height;
});

onClick(later, async () => {
  if (!current) return;
  await loadLater(current);
  show(later, !current.isAtEnd);
});

/** Adds the page of turns after the last one. */
async function loadLater(shown: OpenConversation): Promise<void> {
  const path = pathOf(shown.summary.id, { after: `:${shown.last}` });
  const answer = await requestAsOwner<ConversationView>("GET", path);
  if (shown !== current || "error" in answer) return;
  const { turns } = answer.body;
  shown.transcript.addHistory(turns, { atEnd: true });
  shown.last = turns.at(-1)?.seq ?? shown.last;
  shown.isAtEnd = turns.length < 50;
}

/** Shows turns that were added or have grown since the page was loaded. */
async function loadNew(shown: OpenConversation): Promise<void> {
  const answer = await requestAsOwner<ConversationView>("GET", pathOf(shown.summary.id));
  if (shown !== current || "error" in answer) return;
  shown.summary = answer.body.conversation;
  const isScrolled = messages.scrollHeight - messages.scrollTop - messages.clientHeight > 60;
  if (shown.isAtEnd) {
    shown.transcript.addHistory(answer.body.turns, { atEnd: true, replace: true });
    shown.last = answer.body.turns.at(-1)?.seq ?? shown.last;
  }
  showConversation(shown);
  if (!isScrolled) messages.scrollTop = messages.scrollHeight;
}

onClick(element("rename"), async () => {
  if (!current) return;
  const { id, title } = current.summary;
  const field = { label: "Title", value: title, maxLength: 200 };
  const text = "An empty title restores the first words of the conversation.";
  const name = await ask({ title: "Rename conversation", text, action: "Rename", field });
  if (name === undefined) return;
  const answer = await requestAsOwner<Pick<ConversationView, "conversation">>(
    "PATCH",
    `${api}/${id}`,
    { title: name },
  );
  if ("error" in answer) return setLive("said", answer.error.message);
  const { conversation } = answer.body;
  known.set(id, conversation);
  if (current?.summary.id !== id) return showRows();
  current.summary = conversation;
  showConversation(current);
});

onClick(element("forget"), async () => {
  if (!current) return;
  const { id, title, session, turns } = current.summary;
  const answer = await ask({
    title: "Delete this conversation?",
    text:
      `“${title || session}” with ${formatCount(turns)} ${turns === 1 ? "message" : "messages"} ` +
      "of both sides, its images and its search entries are deleted from the store for all " +
      "devices. This cannot be undone. Backups and exported files keep them.",
    action: "Delete conversation",
  });
  if (answer === undefined) return;
  const result = await requestAsOwner("DELETE", `${api}/${id}`);
  if ("error" in result && result.error.status !== 404)
    return setLive("said", result.error.message);
  known.delete(id);
  hits = hits?.filter(({ conversation }) => conversation.id !== id);
  history.replaceState(null, "", location.pathname);
  close();
  setLive("said", `Deleted “${title || session}”.`);
  await stream.refresh();
});
