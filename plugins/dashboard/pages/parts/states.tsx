/** States of pages and lists: heading, badge, notice, empty, loading and failed. @module */
import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../live/api.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

type Tone = "ok" | "warn" | "bad" | "info" | "off";

interface PageHeadProps {
  readonly title: string;
  /** One sentence below the heading. */
  readonly text?: ComponentChildren;
  /** Buttons of the page. */
  readonly children?: ComponentChildren;
}

/** Heading of a page. Phones show the title in the bar at the top instead. */
export function PageHead({ title, text, children }: PageHeadProps): JSX.Element {
  const isBare = text === undefined && children === undefined;
  return (
    <div class={`page-head${isBare ? " bare" : ""}`}>
      <div>
        <h1>{title}</h1>
        {text !== undefined && <p>{text}</p>}
      </div>
      {children !== undefined && <div class="row wrap">{children}</div>}
    </div>
  );
}

/** A state in one or two words. Colour is never the only sign. */
export function Badge({ tone, children }: { tone?: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone ?? ""}`}>
      {tone !== undefined && <i class="dot" />}
      {children}
    </span>
  );
}

const noticeIcons: Readonly<Record<Tone, string>> = {
  ok: "circle-check",
  warn: "triangle-alert",
  bad: "circle-x",
  info: "info",
  off: "info",
};

/** A sentence that concerns the whole page or card. */
export function Notice({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`}>
      <Icon name={noticeIcons[tone]} />
      <div class="grow">{children}</div>
    </div>
  );
}

interface EmptyProps {
  readonly icon: string;
  readonly title: string;
  /** One sentence. */
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** Shown instead of a list without entries. */
export function Empty({ icon, title, children, action }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <span class="disc">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** Shown while data is loading for the first time. The style sheet delays it by 150 ms. */
export function Skeleton({ rows = 5 }: { readonly rows?: number }): JSX.Element {
  return (
    <div class="skeletons" role="status" aria-busy="true">
      <span class="unseen">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} class="skeleton" />
      ))}
    </div>
  );
}

interface ProblemProps {
  /** The failure, for example "The conversation could not be loaded." */
  readonly title: string;
  readonly error?: ApiError | undefined;
  /** One sentence about data that is safe. */
  readonly safe?: string;
  readonly retry?: () => unknown;
}

/** Shown instead of content that could not be loaded. */
export function Problem({ title, error, safe, retry }: ProblemProps): JSX.Element {
  return (
    <div class="empty" role="alert">
      <span class="disc bad">
        <Icon name="circle-x" />
      </span>
      <h2>{title}</h2>
      <p>
        {error && `${error.message} `}
        {safe}
      </p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}
