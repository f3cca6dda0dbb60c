/** Card that makes a sign-in link for another device, with its QR code. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { second, serverNow } from "../live/clock.ts";
import { requestAsOwner } from "../live/owner.ts";
import { useAct } from "../live/act.ts";
import { FieldProblem } from "../parts/field.tsx";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Qr } from "../parts/qr.tsx";
import { Notice } from "../parts/states.tsx";

/** A sign-in link that has not expired. */
interface Link {
  readonly url: string;
  /** Unix milliseconds. */
  readonly until: number;
}

interface SignInLinkProps {
  /** URLs at which the dashboard listens. */
  readonly addresses: readonly string[];
}

export function SignInLink({ addresses }: SignInLinkProps): JSX.Element {
  const [link, setLink] = useState<Link>();
  const isValid = link !== undefined && link.until > Math.max(second.value, serverNow());
  const create = useAct(async () => {
    const answer = await requestAsOwner<{ url: string; expiresAt: string }>(
      "POST",
      "/api/signin-links",
    );
    if ("error" in answer) return answer.error.message;
    setLink({ url: answer.body.url, until: Date.parse(answer.body.expiresAt) });
    return undefined;
  });
  const cancel = useAct(async () => {
    const answer = await requestAsOwner("DELETE", "/api/signin-links");
    if ("error" in answer) return answer.error.message;
    setLink(undefined);
    return undefined;
  });
  return (
    <section class="card phone-card" aria-labelledby="link-title">
      <h2 id="link-title">Sign in on your phone</h2>
      {link && isValid ? (
        <LiveLink link={link} addresses={addresses} cancel={cancel.act} />
      ) : (
        <>
          <p class="muted small">
            {link
              ? "The link has expired."
              : "A link and its QR code sign in one other browser, without the launcher token."}
          </p>
          <Button kind="primary" busy={create.isBusy && "Creating…"} onClick={create.act}>
            Create a sign-in link
          </Button>
        </>
      )}
      <FieldProblem text={create.problem ?? cancel.problem} />
    </section>
  );
}

interface LiveLinkProps {
  readonly link: Link;
  /** URLs at which the dashboard listens. */
  readonly addresses: readonly string[];
  readonly cancel: () => Promise<void>;
}

function LiveLink({ link, addresses, cancel }: LiveLinkProps): JSX.Element {
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
  const other = addresses.find((address) => URL.canParse(address) && !isLocalOnly(address));
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

/** The time left until `until`: `4:32`. */
function countdownLabel(until: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const isLoopback = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** True if other devices cannot open the address. */
const isLocalOnly = (url: string): boolean =>
  URL.canParse(url) && isLoopback(new URL(url).hostname);
