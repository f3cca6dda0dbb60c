/** Card of the protocol of another product: a switch and code samples. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SettingsChangedView } from "../../shared/views.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Copyable } from "../parts/copy.tsx";
import { Switch } from "../parts/field.tsx";
import { Badge, Notice } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { tokenLabel } from "../../shared/token-labels.ts";
import { protocolSnippets } from "../../shared/protocol-snippets.ts";
import type { ProtocolView } from "../../shared/protocols.ts";
import { Samples } from "./samples.tsx";

const changedMessage = "The settings changed in the meantime. Reload the page and try again.";

export function ProtocolCard({ first }: { readonly first: ProtocolView }): JSX.Element {
  const { url } = useSite();
  const [view, setView] = useState(first);
  const [problem, setProblem] = useState<string>();
  const titleId = `${view.name}-title`;
  const turn = async (enabled: boolean): Promise<void> => {
    setProblem(undefined);
    setView({ ...view, enabled });
    const answer = await requestAsOwner<SettingsChangedView>(
      "PUT",
      `/api/channels/${view.name}`,
      { enabled },
      view.etag,
    );
    if ("body" in answer) return setView({ ...view, enabled, etag: answer.body.etag });
    setView(view);
    const { status, message } = answer.error;
    setProblem(status === 412 ? changedMessage : message);
  };
  return (
    <section class="card" aria-labelledby={titleId}>
      <header>
        <h2 id={titleId} class="grow">
          {view.clients}
        </h2>
        <State view={view} turn={turn} />
      </header>
      <div class="body stack">
        <p class="muted">
          {view.purpose} <a href={url("/docs/doors")}>Guide</a>
        </p>
        <div role="alert">{problem !== undefined && <Notice tone="bad">{problem}</Notice>}</div>
        {view.enabled && (
          <>
            <div class="field">
              <span class="label">Base URL</span>
              <Copyable text={view.url} label={`Copy base URL of ${view.title}`} />
            </div>
            {view.model !== undefined && (
              <p class="small">
                Model <code>{view.model}</code>
              </p>
            )}
            <Samples
              snippets={protocolSnippets(view)}
              token={view.name}
              tokenName={tokenLabel(view.name).replace(/^T/, "t")}
            />
          </>
        )}
      </div>
    </section>
  );
}

interface StateProps {
  readonly view: ProtocolView;
  readonly turn: (enabled: boolean) => Promise<void>;
}

/** A switch, or the state if the page cannot change it. */
function State({ view, turn }: StateProps): JSX.Element {
  const { enabled, enabledManagedBy, etag, title } = view;
  if (enabledManagedBy !== undefined || etag === undefined) {
    const by = enabledManagedBy === undefined ? "" : `, set by ${enabledManagedBy}`;
    return <Badge tone={enabled ? "ok" : "off"}>{`${enabled ? "On" : "Off"}${by}`}</Badge>;
  }
  return <Switch aria-label={`Protocol ${title}`} checked={enabled} onChange={turn} />;
}
