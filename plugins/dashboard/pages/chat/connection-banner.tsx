/** Shown above a conversation without a connection, and hidden otherwise. @module */
import type { JSX } from "preact";
import { second, serverNow } from "../live/clock.ts";
import { useAct } from "../live/act.ts";
import { turnOnChannel } from "../frame/channel-switch.ts";
import { toast } from "../frame/toasts.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useSite } from "../site.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { LinkView } from "./state/transport.ts";
import { lookUp } from "../../shared/look-up.ts";

/** Tells what is wrong with the connection, and offers to connect now. */
export function ConnectionBanner({ conversation }: { readonly conversation: Conversation }) {
  const { url } = useSite();
  const link = conversation.link.value;
  const { state, reason } = link;
  const isWell = state === "open" || state === "idle" || (state === "connecting" && reason === "");
  if (conversation.isReadOnly || isWell) return null;
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
  const { isBusy, act } = useAct(async () => {
    const problem = await turnOnChannel();
    if (problem === undefined) conversation.reconnect();
    else toast({ text: problem, tone: "bad" });
    return problem;
  });
  return (
    <Button compact kind="primary" icon="power" busy={isBusy && "Turning on…"} onClick={act}>
      Turn on
    </Button>
  );
}

const kept = "Messages you send now are delivered afterwards.";

function bannerText({ state, reason, why, retryAt }: LinkView): JSX.Element | string {
  if (state === "closed")
    return lookUp(closeMessages, reason) ?? `The connection was closed (${reason}).`;
  const explanation = lookUp(rejectionMessages, reason) ?? why;
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

/** Why the link will not reconnect by itself. */
const closeMessages: Readonly<Record<string, string>> = {
  normal: "The server closed the connection.",
  session_ended: "Your session has ended. Sign in, then connect again.",
  bad_request: "The channel closed the connection because it received malformed messages.",
  unauthorized: "The channel no longer has a token.",
  forbidden: "The owner disconnected this client.",
  replaced: "Another connection continues this conversation.",
};

/** Why the channel rejects connections. For other reasons, the link recovers by itself. */
const rejectionMessages: Readonly<Record<string, string>> = {
  no_channel: "This service has no channel.",
  unauthorized: "You are signed out.",
  not_found: "The channel is off.",
  channel_managed: "The channel is off, and this page can't turn it on.",
  too_many_connections: "The channel has reached its maximum number of connections.",
};
