/** An address that a question asks to open: text, until it is clicked. @module */
import type { JSX } from "preact";
import { visibleText } from "../../shared/visible-text.ts";
import { LinkButton } from "../parts/button.tsx";
import { Notice } from "../parts/states.tsx";

/** An address that a person may open. */
interface WebAddress {
  readonly url: URL;
  /** True if the name has letters of other scripts, which may look like others. */
  readonly isForeign: boolean;
}

/** @returns Undefined unless the scheme is http or https: others could start a program. */
function readWebAddress(text: string): WebAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  return { url, isForeign: /(?:^|\.)xn--/.test(url.hostname) };
}

interface AddressProps {
  readonly text: string;
}

/** Shows the whole address, and its host first. */
export function AddressText({ text }: AddressProps): JSX.Element {
  const address = readWebAddress(text);
  return (
    <>
      <pre dir="ltr">
        {address && <b>{`${address.url.host}\n`}</b>}
        {visibleText(text)}
      </pre>
      {address?.isForeign === true && (
        <Notice tone="warn">The name has letters that may look like others. Check it.</Notice>
      )}
      {!address && (
        <Notice tone="warn">This is not a web address, so it does not open here.</Notice>
      )}
    </>
  );
}

/** Opens the address. The page that opens cannot reach this one. */
export function OpenButton(
  props: AddressProps & { readonly onClick?: () => void },
): JSX.Element | null {
  const address = readWebAddress(props.text);
  if (!address) return null;
  return (
    <LinkButton
      kind="primary"
      icon="external-link"
      href={address.url.href}
      target="_blank"
      rel="noopener noreferrer"
      onClick={props.onClick}
    >
      Open {address.url.host}
    </LinkButton>
  );
}
