/** Shown above a conversation without a connection. Loaded after the page. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { second, serverNow } from "../live/clock.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useSite } from "../site.tsx";
import { linkClosedMessage, linkRejectedMessage } from "../../shared/labels.ts";
import { scriptMissing, type Conversation } from "./state/conversation.ts";
import { rejectionWhy } from "./state/link.ts";
import type { LinkView } from "./state/transport.ts";
import { turnOnChannel } from "./turn-on.ts";

/** Tells what is wrong with the connection, and offers to connect now. */
export function ConnectionBanner({ conversation }: { readonly conversation: Conversation }) {
  const { url } = useSite();
  const { state, reason, retryAt } = conversation.link.value;
  return (
    <div class="banner" role="status">
      <Icon name="wifi-off" />
      <span class="grow">
        {bannerText({ state, reason, ...(retryAt !== undefined && { retryAt }) })}
      </span>
      {reason === "channel_managed" && (
        <LinkButton href={url("/overview")} compact>
          Open Overview
        </LinkButton>
      )}
      {reason === "not_found" ? (
        <TurnOn conversation={conversation} />
      ) : (
        <Button compact onClick={() => conversation.reconnect()}>
          {reason === scriptMissing ? "Try again" : "Reconnect now"}
        </Button>
      )}
    </div>
  );
}

/** Turns the channel on, and connects. */
function TurnOn({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const act = async (): Promise<void> => {
    setBusy(true);
    if (await turnOnChannel()) conversation.reconnect();
    setBusy(false);
  };
  return (
    <Button compact kind="primary" icon="power" busy={isBusy && "Turning on…"} onClick={act}>
      Turn on
    </Button>
  );
}

const kept = "Messages you send now are delivered afterwards.";

function bannerText({ state, reason, retryAt }: LinkView): JSX.Element | string {
  if (state === "closed") return linkClosedMessage(reason);
  const explanation = linkRejectedMessage(reason) ?? rejectionWhy(reason);
  if (explanation !== undefined) return explanation;
  // Reading the signal draws this again each second.
  const ms = retryAt === undefined || second.value === 0 ? 0 : retryAt - serverNow();
  const isMissing = reason === scriptMissing;
  const problem = isMissing ? "The script that connects could not be loaded." : "Connection lost.";
  const act = isMissing ? "Trying again" : "Reconnecting";
  if (state !== "waiting" || ms < 1_000) return `${problem} ${act}… ${kept}`;
  return (
    <>
      {problem} {act} in <span class="num">{Math.ceil(ms / 1_000)} s</span>. {kept}
    </>
  );
}
