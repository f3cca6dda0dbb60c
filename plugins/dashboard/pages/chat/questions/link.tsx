/** A question whether to open an address. Loaded after the page. @module */
import type { JSX } from "preact";
import { Button } from "../../parts/button.tsx";
import { AddressText, OpenButton } from "../../questions/web-address.tsx";
import type { AnswerProps } from "./acts.ts";

/** Nothing opens without a click, which is the consent. */
export function LinkAnswer({ asked, isSending, send }: AnswerProps): JSX.Element {
  const { url = "", options = [] } = asked;
  const allow = options.find(({ effect }) => effect === "allow") ?? options[0];
  const deny = options.find(({ effect }) => effect === "deny");
  return (
    <>
      <AddressText text={url} />
      <div class="row wrap">
        <OpenButton
          text={url}
          onClick={() => send(allow ? { option: allow.id } : { dismiss: true })}
        />
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
