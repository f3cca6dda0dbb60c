/** Card that makes a sign-in link for another device, with its QR code. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { second, serverNow } from "../live/clock.ts";
import { later } from "../live/later.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button } from "../parts/button.tsx";
import type { Link } from "./live-link.tsx";

const shownLink = later(() => import("./live-link.tsx"));

interface SignInLinkProps {
  /** URLs at which the dashboard listens. */
  readonly addresses: readonly string[];
}

export function SignInLink({ addresses }: SignInLinkProps): JSX.Element {
  const [link, setLink] = useState<Link>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const isValid = link !== undefined && link.until > Math.max(second.value, serverNow());
  const view = shownLink.module.value;
  const create = async (): Promise<void> => {
    shownLink.use();
    setBusy(true);
    setProblem(undefined);
    const answer = await requestAsOwner<{ url: string; expiresAt: string }>(
      "POST",
      "/api/signin-links",
    );
    setBusy(false);
    if ("error" in answer) return setProblem(answer.error.message);
    setLink({ url: answer.body.url, until: Date.parse(answer.body.expiresAt) });
  };
  const cancel = async (): Promise<void> => {
    const answer = await requestAsOwner("DELETE", "/api/signin-links");
    if ("error" in answer) return setProblem(answer.error.message);
    setLink(undefined);
  };
  return (
    <section class="card phone-card" aria-labelledby="link-title">
      <h2 id="link-title">Sign in on your phone</h2>
      {link && isValid ? (
        view && <view.LiveLink link={link} addresses={addresses} cancel={cancel} />
      ) : (
        <>
          <p class="muted small">
            {link
              ? "The link has expired."
              : "A link and its QR code sign in one other browser, without the launcher token."}
          </p>
          <Button kind="primary" busy={isBusy && "Creating…"} onClick={create}>
            Create a sign-in link
          </Button>
        </>
      )}
      <p class="problem" role="alert" hidden={problem === undefined}>
        {problem}
      </p>
    </section>
  );
}
