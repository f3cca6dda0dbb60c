/** A question whether to open an address. Loaded after the page. @module */
import type { JSX } from "preact";
import { visibleText } from "../../../shared/visible-text.ts";
import { Button, LinkButton } from "../../parts/button.tsx";
import { Notice } from "../../parts/states.tsx";
import type { AnswerProps } from "./acts.ts";

/** Other schemes could start a program. */
function webAddress(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** Nothing opens without a click, and the page that opens cannot reach this one. */
export function LinkAnswer({ asked, isSending, send }: AnswerProps): JSX.Element {
  const { url: text = "", options = [] } = asked;
  const url = webAddress(text);
  const allow = options.find(({ effect }) => effect === "allow") ?? options[0];
  const deny = options.find(({ effect }) => effect === "deny");
  const isForeign = url !== undefined && /(?:^|\.)xn--/.test(url.hostname);
  return (
    <>
      <div class="address" dir="ltr">
        {url && <b>{url.host}</b>}
        <code>{visibleText(text)}</code>
      </div>
      {isForeign && (
        <Notice tone="warn">The name has letters that may look like others. Check it.</Notice>
      )}
      {!url && <Notice tone="warn">This is not a web address, so it does not open here.</Notice>}
      <div class="row wrap">
        {url && (
          <LinkButton
            kind="primary"
            icon="external-link"
            href={url.href}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => send(allow ? { option: allow.id } : { dismiss: true })}
          >
            Open {url.host}
          </LinkButton>
        )}
        <Button
          aria-disabled={isSending}
          onClick={() => send(deny ? { option: deny.id } : { dismiss: true })}
        >
          Don’t open
        </Button>
      </div>
    </>
  );
}
