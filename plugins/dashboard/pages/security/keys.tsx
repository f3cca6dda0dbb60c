/** Card of the keys of devices and scripts. @module */
import type { JSX } from "preact";
import type { KeysView, KeyView } from "../../shared/key-views.ts";
import { keyProtocols, keyRights } from "../../shared/key-views.ts";
import { formatDuration } from "../../shared/format.ts";
import { useResource } from "../live/resource.ts";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Icon } from "../parts/icon.tsx";
import { Badge, Notice } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { createKey, revokeKey, rotateKey } from "./key-actions.tsx";

interface KeysProps {
  readonly initial: KeysView;
  readonly now: number;
}

export function Keys({ initial, now }: KeysProps): JSX.Element {
  const { url } = useSite();
  const { value, refresh } = useResource("/api/keys", initial, {
    refreshOn: ["key", "settings"],
  });
  const { keys, closed } = value.value;
  const shown = keys.filter(({ state }) => state !== "revoked");
  const revoked = keys.filter(({ state }) => state === "revoked");
  return (
    <Card
      id="keys-title"
      title="Keys"
      end={
        <>
          <a class="small" href={url("/docs/security#keys")}>
            Rights of keys
          </a>
          <Button compact onClick={() => createKey(refresh)}>
            Create a key…
          </Button>
        </>
      }
    >
      {closed !== undefined && (
        <div class="body">
          <Notice tone="warn">{closed}</Notice>
        </div>
      )}
      {shown.length === 0 && (
        <p class="body muted small">
          Give each device and script a key of its own. You can revoke it alone.
        </p>
      )}
      <div class="tokens">
        {shown.map((key) => (
          <KeyRow key={key.id} of={key} now={now} refresh={refresh} />
        ))}
      </div>
      {revoked.length > 0 && (
        <details class="unused">
          <summary>Revoked: {revoked.map(({ name }) => name).join(", ")}</summary>
          <div class="tokens">
            {revoked.map((key) => (
              <KeyRow key={key.id} of={key} now={now} refresh={refresh} />
            ))}
          </div>
        </details>
      )}
    </Card>
  );
}

interface KeyRowProps {
  readonly of: KeyView;
  readonly now: number;
  readonly refresh: () => Promise<unknown>;
}

function KeyRow({ of: key, now, refresh }: KeyRowProps): JSX.Element {
  const { id, name, state, expiresAt, lastUsedAt, lastAddress, createdAt, revokedAt } = key;
  const protocols = keyProtocols(key);
  return (
    <div class="token" role="group" aria-label={`Key ${name}`}>
      <span class="disc">
        <Icon name="key-round" />
      </span>
      <div>
        <div class="row wrap">
          <b>{name}</b>
          {state === "expired" && <Badge tone="warn">Expired</Badge>}
          {state === "revoked" && <Badge>Revoked</Badge>}
        </div>
        <p class="muted small">
          May {keyRights(key)}
          {protocols !== "" && ` · for ${protocols}`}
        </p>
        <p class="muted xs">
          <span class="mono">{id}</span>
          {" · created "}
          <Ago at={createdAt} now={now} />
          {lastUsedAt === undefined ? (
            " · never used"
          ) : (
            <>
              {" · used "}
              <Ago at={lastUsedAt} now={now} />
              {` from ${lastAddress}`}
            </>
          )}
          {state === "active" &&
            expiresAt !== undefined &&
            ` · ends in ${formatDuration(expiresAt - now)}`}
          {revokedAt !== undefined && (
            <>
              {" · revoked "}
              <Ago at={revokedAt} now={now} />
            </>
          )}
        </p>
      </div>
      {state !== "revoked" && (
        <div class="row">
          <Button
            compact
            aria-label={`Replace the secret of ${name}`}
            onClick={() => rotateKey(key, refresh)}
          >
            Replace…
          </Button>
          <Button compact aria-label={`Revoke ${name}`} onClick={() => revokeKey(key, refresh)}>
            Revoke…
          </Button>
        </div>
      )}
    </div>
  );
}
