/** A question whether to open an address. Loaded after the page. @module */
import type { JSX } from "preact";
import { readWebAddress } from "../../../shared/question-fields.ts";
import { visibleText } from "../../../shared/visible-text.ts";
import { Button, LinkButton } from "../../parts/button.tsx";
import { Notice } from "../../parts/states.tsx";
import type { AnswerProps } from "./acts.ts";

/** Nothing opens without a click, and the page that opens cannot reach this one. */
export function LinkAnswer({ asked, isSending, send }: AnswerProps): JSX.Element {
  const { url: text = "", options = [] } = asked;
  const address = readWebAddress(text);
  const url = address?.url;
  const allow = options.find(({ effect }) => effect === "allow") ?? options[0];
  const deny = options.find(({ effect }) => effect === "deny");
  return (
    <>
      <pre dir="ltr">
        {url && <b>{`${url.host}\n`}</b>}
        {visibleText(text)}
      </pre>
      {address?.isForeign === true && (
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
