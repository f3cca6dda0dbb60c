/** Shown above a conversation without a connection. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { second, serverNow } from "../live/clock.ts";
import { requestAsOwner } from "../live/owner.ts";
import { switchChannel } from "../overview/channel-switch.ts";
import { toast } from "../frame/toasts.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useSite } from "../site.tsx";
import type { StatusView } from "../../shared/views.ts";
import { linkClosedMessage, linkRejectedMessage } from "../../shared/labels.ts";
import type { Conversation } from "./state/conversation.ts";
import type { LinkView } from "./state/transport.ts";

/** Tells what is wrong with the connection, and offers to connect now. */
export function ConnectionBanner({ conversation }: { readonly conversation: Conversation }) {
  const { url } = useSite();
  const link = conversation.link.value;
  const { reason } = link;
  return (
    <div class="banner" role="status">
      <Icon name="wifi-off" />
      <span class="grow">{bannerText(link)}</span>
      {reason === "channel_managed" && (
        <LinkButton href={url("/overview")} compact>
          Open Overview
        </LinkButton>
      )}
      {reason === "not_found" ? (
        <TurnOn conversation={conversation} />
      ) : (
        <Button compact onClick={() => conversation.reconnect()}>
          Reconnect now
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

function bannerText({ state, reason, why, retryAt }: LinkView): JSX.Element | string {
  if (state === "closed") return linkClosedMessage(reason);
  const explanation = linkRejectedMessage(reason) ?? why;
  if (explanation !== undefined) return explanation;
  // Reading the signal draws this again each second.
  const ms = retryAt === undefined || second.value === 0 ? 0 : retryAt - serverNow();
  if (state !== "waiting" || ms < 1_000) return `Connection lost. Reconnecting… ${kept}`;
  return (
    <>
      Connection lost. Reconnecting in <span class="num">{Math.ceil(ms / 1_000)} s</span>. {kept}
    </>
  );
}

/** Turns the channel on. @returns False if it stays off; a message then says why. */
async function turnOnChannel(): Promise<boolean> {
  const answer = await requestAsOwner<StatusView>("GET", "/api/status");
  const problem =
    "error" in answer
      ? answer.error.message
      : answer.body.channel?.enabled === false
        ? await switchChannel(answer.body.channel, true)
        : undefined;
  if (problem !== undefined) toast({ text: problem, tone: "bad" });
  return problem === undefined;
}
