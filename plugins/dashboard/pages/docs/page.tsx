/** Documentation page: contents, search, the article and its headings. @module */
import { h, type ComponentChild, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { requestAsOwner } from "../live/owner.ts";
import { copyText } from "../parts/copy.tsx";
import { Search } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Marked } from "../parts/marked.tsx";
import { PageHead } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { findSections, type SearchEntry, wordsOf } from "./search.ts";
import { base } from "../live/base.ts";

/** A text, or a tag with its attributes and children. */
type DocNode = string | readonly [tag: string, attributes: DocAttributes, ...DocNode[]];
type DocAttributes = 0 | Readonly<Record<string, string | number>>;

interface PageLink {
  readonly id: string;
  readonly title: string;
}

/** Data of a documentation page. */
export interface DocsData {
  /** Name of the page; `index` for the list of all. */
  readonly id: string;
  readonly title: string;
  readonly contents: readonly { readonly name: string; readonly pages: readonly PageLink[] }[];
  readonly headings: readonly { readonly id: string; readonly text: string }[];
  readonly previous?: PageLink;
  readonly next?: PageLink;
  /** URL of the channel; undefined without one. */
  readonly channel?: string;
  /** The content. Only the server has it: the browser keeps the elements of the document. */
  readonly nodes?: readonly DocNode[] | undefined;
}

export function DocsPage({ data }: { readonly data: DocsData }): JSX.Element {
  const { title, headings, nodes, channel } = data;
  return (
    <div class="page-in docs">
      <Contents data={data} />
      <div class="reading">
        <article class="prose" onClick={(event) => void copyFromButton(event, channel)}>
          <PageHead title={title} />
          {nodes ? (
            <Content nodes={nodes} />
          ) : (
            // oxlint-disable-next-line react/no-danger -- without content, nothing is parsed
            <div class="content" id="content" dangerouslySetInnerHTML={{ __html: "" }} />
          )}
        </article>
        <Neighbours data={data} />
      </div>
      {headings.length > 1 && (
        <nav class="contents on-page" aria-label="On this page">
          <h2>On this page</h2>
          <ul>
            {headings.map(({ id, text }) => (
              <li key={id}>
                <a href={`#${id}`}>{text}</a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </div>
  );
}

/** Links to other pages of the documentation begin with `docs:`. */
function Content({ nodes }: { readonly nodes: readonly DocNode[] }): JSX.Element {
  const { url } = useSite();
  const withBase = (attributes: DocAttributes): object | null => {
    if (attributes === 0) return null;
    const { href } = attributes;
    if (typeof href !== "string" || !href.startsWith("docs:")) return attributes;
    return { ...attributes, href: url(`/docs/${href.slice("docs:".length)}`) };
  };
  const draw = (node: DocNode): ComponentChild => {
    if (typeof node === "string") return node;
    const [tag, attributes, ...children] = node;
    return h(tag, withBase(attributes), children.map(draw));
  };
  return (
    <div class="content" id="content">
      {nodes.map(draw)}
    </div>
  );
}

const feedbackMs = 1600;

/** Copies the code of the button that was clicked, and says so on the button. */
async function copyFromButton(event: MouseEvent, channel: string | undefined): Promise<void> {
  const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
  const code = button?.closest(".code")?.querySelector("pre")?.textContent;
  if (!button || code === undefined) return;
  const label = (button.dataset["label"] ??= button.textContent);
  const text = button.dataset["copy"] === "address" ? withAddress(code, channel) : code;
  button.textContent = (await copyText(text)) ? "Copied" : "Can't copy";
  setTimeout(() => {
    button.textContent = label;
  }, feedbackMs);
}

/** Pages by task, or the results of the search. */
function Contents({ data }: { readonly data: DocsData }): JSX.Element {
  const [query, setQuery] = useState("");
  const { index, problem, load } = useIndex();
  useEffect(() => {
    const wanted = new URLSearchParams(location.search).get("q");
    if (wanted === null) return;
    setQuery(wanted);
    void load();
  }, []);
  const search = (text: string): void => {
    setQuery(text);
    void load();
  };
  const isSearching = query.trim() !== "";
  return (
    <div class="contents">
      <div class="scripted" role="search">
        <Search
          label="Search the documentation"
          placeholder="Search these pages"
          value={query}
          onText={search}
        />
      </div>
      {isSearching && <Results index={index} problem={problem} query={query} />}
      {!isSearching && (
        <>
          <nav class="hide-phone" aria-label="Documentation">
            <Pages data={data} />
          </nav>
          <details class="phone-only">
            <summary>All pages</summary>
            <nav aria-label="Documentation">
              <Pages data={data} />
            </nav>
          </details>
        </>
      )}
    </div>
  );
}

/** All pages by task. */
function Pages({ data }: { readonly data: DocsData }): JSX.Element {
  const { url } = useSite();
  return (
    <>
      {data.contents.map(({ name, pages }) => (
        <div key={name}>
          <h2>{name}</h2>
          <ul>
            {pages.map(({ id, title }) => (
              <li key={id}>
                <a href={url(`/docs/${id}`)} aria-current={id === data.id ? "page" : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

/** Loads the index with the first key. */
function useIndex() {
  const [index, setIndex] = useState<readonly SearchEntry[]>();
  const [problem, setProblem] = useState<string>();
  const isLoading = useRef(false);
  const load = async (): Promise<void> => {
    if (isLoading.current || index) return;
    isLoading.current = true;
    const answer = await requestAsOwner<readonly SearchEntry[]>("GET", "/docs/search.json");
    isLoading.current = false;
    if ("error" in answer) return setProblem(answer.error.message);
    setProblem(undefined);
    setIndex(answer.body);
  };
  return { index, problem, load };
}

interface ResultsProps {
  readonly index: readonly SearchEntry[] | undefined;
  readonly problem: string | undefined;
  readonly query: string;
}

function Results({ index, problem, query }: ResultsProps): JSX.Element {
  const { url } = useSite();
  if (!index)
    return (
      <p class="muted small" role="status">
        {problem ?? "Loading…"}
      </p>
    );
  const found = findSections(index, query);
  const words = wordsOf(query);
  const count = found.length === 1 ? "1 result" : `${found.length} results`;
  return (
    <nav aria-label="Search results">
      <p class="muted small" role="status">
        {found.length === 0 ? "No results. Try another word." : count}
      </p>
      <ul>
        {found.map(({ page, id, heading, title, excerpt }) => (
          <li key={`${page}#${id}`}>
            <a class="result" href={url(`/docs/${page}${id === "" ? "" : `#${id}`}`)}>
              {title !== undefined && <small>{title}</small>}
              <b>
                <Marked text={heading} marks={words} />
              </b>
              <small>
                <Marked text={excerpt} marks={words} />
              </small>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Neighbours({ data: { previous, next } }: { readonly data: DocsData }): JSX.Element {
  const { url } = useSite();
  return (
    <nav class="neighbours" aria-label="Previous and next page">
      {previous && (
        <a href={url(`/docs/${previous.id}`)} rel="prev">
          <Icon name="arrow-left" small flip />
          {previous.title}
        </a>
      )}
      {next && (
        <a class="push" href={url(`/docs/${next.id}`)} rel="next">
          {next.title}
          <Icon name="chevron-right" small flip />
        </a>
      )}
    </nav>
  );
}

/** The address in all examples. `scripts/docs-nodes.mjs` looks for it as well. */
const exampleAddress = /\b(http|ws):\/\/127\.0\.0\.1:18800(?=(\/(?:api|metrics)\b)?)/g;

/**
 * Replaces the address of the examples.
 *
 * @param channel - URL of the channel. Clients connect there, which may be another port.
 */
function withAddress(text: string, channel: string | undefined): string {
  const own = location.origin + base();
  const forClients = channel?.replace(/^ws/, "http").replace(/\/pico$/, "") ?? own;
  return text.replace(
    exampleAddress,
    (_, scheme: string, isOwn?: string) =>
      scheme + (isOwn === undefined ? forClients : own).slice("http".length),
  );
}
