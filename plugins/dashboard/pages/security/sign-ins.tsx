/** Card of the signed-in browsers. @module */
import type { JSX } from "preact";
import type { SessionView } from "../../shared/views.ts";
import { askToken } from "../frame/dialogs.ts";
import { forgetStored } from "../live/storage.ts";
import { toast } from "../frame/toasts.ts";
import { base } from "../live/base.ts";
import { requestAsOwner } from "../live/owner.ts";
import { expectSessionEnd, leavePage } from "../live/stream.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Badge } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { formatDuration } from "../../shared/format.ts";
import { browserLabel } from "../../shared/client-labels.ts";

interface SignInsProps {
  readonly sessions: readonly SessionView[];
  readonly now: number;
  readonly refresh: () => Promise<unknown>;
}

export function SignIns({ sessions, now, refresh }: SignInsProps): JSX.Element {
  const others = sessions.filter(({ current }) => !current).length;
  return (
    <section class="card" aria-labelledby="sign-ins-title">
      <header>
        <h2 id="sign-ins-title" class="grow">
          Signed-in browsers
        </h2>
        <Button compact disabled={others === 0} onClick={() => signOutOthers(others, refresh)}>
          Sign out others
        </Button>
      </header>
      <ul>
        {sessions.map((session) => (
          <SignIn key={session.id} session={session} now={now} refresh={refresh} />
        ))}
      </ul>
    </section>
  );
}

const nameOf = ({ userAgent }: SessionView): string => browserLabel(userAgent) || "Unknown browser";

interface SignInProps {
  readonly session: SessionView;
  readonly now: number;
  readonly refresh: () => Promise<unknown>;
}

function SignIn({ session, now, refresh }: SignInProps): JSX.Element {
  const { address, current, createdAt, lastUsedAt, expiresAt, userAgent, maker } = session;
  const name = nameOf(session);
  const device = /Android|iPhone|iPad/.test(userAgent) ? "smartphone" : "monitor";
  return (
    <li class="signin">
      <span class="disc">
        <Icon name={current ? "laptop" : device} />
      </span>
      <div>
        <div class="row wrap">
          <b title={userAgent}>{name}</b>
          {current && <Badge tone="ok">This browser</Badge>}
          {maker !== undefined && <Badge>By sign-in link</Badge>}
        </div>
        <p class="muted small">
          <span class="mono">{address}</span>
        </p>
        <p class="muted small">
          {"Used "}
          <Ago at={lastUsedAt} now={now} />
          {" · signed in "}
          <Ago at={createdAt} now={now} />
          {" · "}
          <span>expires in {formatDuration(expiresAt - now)}</span>
        </p>
      </div>
      <Button
        compact
        aria-label={`Sign out ${name}, ${address}`}
        onClick={() => (current ? signOutHere(session) : signOutOther(session, refresh))}
      >
        Sign out
      </Button>
    </li>
  );
}

async function signOutOthers(count: number, refresh: () => Promise<unknown>): Promise<void> {
  const answer = await askToken({
    title: "Sign out all other browsers?",
    text: "They need the launcher token or a sign-in link to return.",
    verb: count === 1 ? "Sign out 1 browser" : `Sign out ${count} browsers`,
    danger: true,
    send: (current) => requestAsOwner<{ ended: number }>("DELETE", "/api/sessions", { current }),
  });
  if (!answer || "error" in answer) return;
  const { ended } = answer.body;
  toast({ text: ended === 1 ? "1 browser signed out" : `${ended} browsers signed out` });
  await refresh();
}

async function signOutOther(session: SessionView, refresh: () => Promise<unknown>): Promise<void> {
  const name = nameOf(session);
  const answer = await askToken({
    title: `Sign out ${name}?`,
    text: "This also signs out browsers that used its sign-in links.",
    verb: "Sign out",
    danger: true,
    send: (current) => requestAsOwner("DELETE", `/api/sessions/${session.id}`, { current }),
    endsOn: ({ status }) => status === 404,
  });
  if (!answer) return;
  if ("error" in answer) toast({ text: answer.error.message, tone: "bad" });
  else toast({ text: `${name} signed out` });
  await refresh();
}

/** Ends the sign-in of this browser and leaves the page. */
async function signOutHere({ id }: SessionView): Promise<void> {
  const request = requestAsOwner("DELETE", `/api/sessions/${id}`);
  const left = request.then((answer) => {
    if ("error" in answer) return undefined;
    forgetStored();
    return leavePage(() => location.assign(`${base()}/login`));
  });
  expectSessionEnd(left);
  const answer = await request;
  await left;
  if ("error" in answer) toast({ text: answer.error.message, tone: "bad" });
}
