/** Security page: tokens, signed-in browsers, sign-in link and failed attempts. @module */
import type { JSX } from "preact";
import type { KeysView } from "../../shared/key-views.ts";
import type { SessionsView, StatusView, TokensView } from "../../shared/views.ts";
import { second } from "../live/clock.ts";
import { useResource } from "../live/resource.ts";
import { PageHead } from "../parts/states.tsx";
import { Decisions } from "./decisions.tsx";
import { FailedAttempts } from "./failed.tsx";
import { SignInLink } from "./sign-in-link.tsx";
import { SignIns } from "./sign-ins.tsx";
import { Keys } from "./keys.tsx";
import { Tokens } from "./tokens.tsx";

/** Data of the security page. It contains no token. */
export interface SecurityData {
  readonly tokens: TokensView;
  /** Undefined in a deployment without keys. */
  readonly keys?: KeysView;
  /** Whether this deployment lists decisions. @defaultValue `false` */
  readonly hasDecisions?: boolean;
  readonly sessions: SessionsView;
  readonly status: StatusView;
}

export function SecurityPage({ data }: { readonly data: SecurityData }): JSX.Element {
  const tokens = useResource("/api/tokens", data.tokens, { refreshOn: ["token", "settings"] });
  // No event reports the last use of a sign-in, so it is read with every `rate` event.
  const sessions = useResource("/api/sessions", data.sessions, {
    refreshOn: ["signed-in", "signed-out", "rate"],
  });
  const status = useResource("/api/status", data.status, {
    refreshOn: ["refused", "sign-in-refused"],
  });
  const now = Math.max(second.value, data.status.now);
  return (
    <div class="page-in">
      <PageHead
        title="Security"
        text="Tokens, keys, signed-in browsers, failed attempts and decisions."
      />
      <div class="cols">
        <div class="stack">
          <Tokens tokens={tokens.value.value.tokens} now={now} />
          {data.keys && <Keys initial={data.keys} now={now} />}
          <SignIns sessions={sessions.value.value.sessions} now={now} refresh={sessions.refresh} />
        </div>
        <div class="stack">
          <SignInLink addresses={status.value.value.addresses} />
          <FailedAttempts status={status.value.value} refresh={status.refresh} />
        </div>
      </div>
      {data.hasDecisions && <Decisions now={now} />}
    </div>
  );
}
