/** Card of the tokens: purpose, place, age and strength of each. @module */
import type { JSX } from "preact";
import type { TokenRow } from "../../shared/views.ts";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Copyable } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Badge } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { tokenLabel } from "../../shared/token-labels.ts";
import { replaceToken, ShownTokenDialog, showToken } from "./token-actions.tsx";
import {
  concernText,
  isChangeable,
  shadowedSources,
  tokenCommand,
  tokenNoun,
  tokenPlace,
  tokenPurpose,
} from "./token-texts.ts";

export function Tokens({ tokens, now }: { tokens: readonly TokenRow[]; now: number }): JSX.Element {
  const { url } = useSite();
  const inUse = tokens.filter(({ source }) => source !== "none");
  const unused = tokens.filter(({ source }) => source === "none");
  return (
    <Card
      id="tokens-title"
      title="Tokens"
      end={
        <a class="small" href={url("/docs/configuration#tokens")}>
          Where tokens are stored
        </a>
      }
    >
      <div class="tokens">
        {inUse.map((token) => (
          <Token key={token.name} token={token} now={now} />
        ))}
      </div>
      {unused.length > 0 && (
        <details class="unused">
          <summary>
            <span class="grow">
              Not in use: {unused.map(({ name }) => tokenLabel(name)).join(", ")}
            </span>
            <span class="link">Create</span>
          </summary>
          <div class="tokens">
            {unused.map((token) => (
              <Token key={token.name} token={token} now={now} />
            ))}
          </div>
        </details>
      )}
      <ShownTokenDialog />
    </Card>
  );
}

function Token({ token, now }: { readonly token: TokenRow; readonly now: number }): JSX.Element {
  const { name, source, changedAt, concern, managedByEnv } = token;
  const command = tokenCommand(token);
  return (
    <div class="token" role="group" aria-label={tokenLabel(name)}>
      <span class="disc">
        <Icon name="key-round" />
      </span>
      <div>
        <div class="row wrap">
          <b>{tokenLabel(name)}</b>
          {source !== "none" &&
            (concern === undefined ? (
              <Badge tone="ok">Strong</Badge>
            ) : (
              <Badge tone="warn">Weak</Badge>
            ))}
        </div>
        <p class="muted small">{tokenPurpose(name)}</p>
        <p class="muted xs">
          {tokenPlace(token)}
          {changedAt !== undefined && (
            <>
              {" · changed "}
              <Ago at={changedAt} now={now} />
            </>
          )}
        </p>
        {managedByEnv && (
          <p class="muted xs">To change it, set the environment variable and restart.</p>
        )}
        {concern !== undefined && <p class="small warn">{concernText(concern)}</p>}
        {shadowedSources(token).map((text) => (
          <p key={text} class="small warn">
            {text}
          </p>
        ))}
        {command !== undefined && <Copyable text={command} label="Copy command" />}
      </div>
      <Actions token={token} />
    </div>
  );
}

function Actions({ token }: { readonly token: TokenRow }): JSX.Element | null {
  const { name, managedByEnv, source } = token;
  if (!isChangeable(name)) return null;
  const canReplace = !managedByEnv && source !== "host";
  const isNew = source === "none";
  return (
    <div class="row">
      {name !== "launcher" && !isNew && (
        <Button compact aria-label={`Show the ${tokenNoun(name)}`} onClick={() => showToken(name)}>
          Show…
        </Button>
      )}
      {canReplace && (
        <Button
          compact
          aria-label={`${isNew ? "Create" : "Replace"} the ${tokenNoun(name)}`}
          onClick={() => replaceToken(name, isNew)}
        >
          {isNew ? "Create…" : "Replace…"}
        </Button>
      )}
    </div>
  );
}
