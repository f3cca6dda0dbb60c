/** A sign-in link with its QR code and the time left. @module */
import type { JSX } from "preact";
import { second, serverNow } from "../live/clock.ts";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Qr } from "../parts/qr.tsx";
import { Notice } from "../parts/states.tsx";
import { countdownLabel, isLocalOnly, reachable } from "./link-addresses.ts";

/** A sign-in link that has not expired. */
export interface Link {
  readonly url: string;
  /** Unix milliseconds. */
  readonly until: number;
}

interface LiveLinkProps {
  readonly link: Link;
  /** URLs at which the dashboard listens. */
  readonly addresses: readonly string[];
  readonly cancel: () => Promise<void>;
}

export function LiveLink({ link, addresses, cancel }: LiveLinkProps): JSX.Element {
  const isLocal = isLocalOnly(link.url);
  return (
    <>
      {isLocal ? (
        <LocalOnly addresses={addresses} />
      ) : (
        <Qr text={link.url} label="QR code with the sign-in link" />
      )}
      <p class="muted small">
        {isLocal ? "For another browser of this machine. " : "Scan it with the camera. "}
        Single use, expires in{" "}
        <b class="num" role="timer">
          {countdownLabel(link.until, Math.max(second.value, serverNow()))}
        </b>
        . If you sign out here, the other browser is signed out too.
      </p>
      <div class="row wrap">
        <CopyButton text={link.url} label="Copy link" compact />
        <Button kind="ghost" compact onClick={cancel}>
          Cancel link
        </Button>
      </div>
    </>
  );
}

/** A phone cannot open a loopback address. */
function LocalOnly({ addresses }: Pick<LiveLinkProps, "addresses">): JSX.Element {
  const [other] = reachable(addresses);
  return (
    <Notice tone="info">
      <b>Other devices can't reach this address.</b>
      <p>
        {other === undefined ? (
          <>
            Set <code>"public": true</code> and <code>"tls"</code> in{" "}
            <code>launcher-config.json</code>, then open this page at the address of this machine.
          </>
        ) : (
          <>
            Open this page at <a href={other}>{other}</a> and create the link there.
          </>
        )}
      </p>
    </Notice>
  );
}
