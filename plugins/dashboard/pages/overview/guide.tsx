/** The guide of a first visit: four steps, of which the first open one says what to do. @module */
import type { ComponentChildren, JSX } from "preact";
import { Button, LinkButton } from "../parts/button.tsx";
import { Copyable } from "../parts/copy.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { useSite } from "../site.tsx";
import { canSwitch, useChannelSwitch } from "../frame/channel-switch.ts";
import type { Guide as GuideData } from "./guide-steps.ts";

interface GuideProps {
  readonly guide: GuideData;
  /** Loads the status again. */
  readonly refresh: () => Promise<unknown>;
}

export function Guide({ guide, refresh }: GuideProps): JSX.Element {
  const { done, dismiss } = guide;
  const current = done.indexOf(false);
  const count = done.filter(Boolean).length;
  const steps = [
    <TurnOn key="channel" guide={guide} refresh={refresh} />,
    <Hello key="hello" guide={guide} />,
    <Program key="program" guide={guide} />,
    <Device key="device" />,
  ];
  return (
    <section class="card guide" aria-labelledby="guide">
      <header class="wrap">
        <div class="grow">
          <h2 id="guide">Set up Doorward in four steps</h2>
          <p class="muted small">{count} of 4 done</p>
        </div>
        <span class="scripted">
          <Button kind="ghost" onClick={dismiss}>
            Skip the guide
          </Button>
        </span>
      </header>
      <ol class="steps">
        {steps.map((step, at) => (
          <Step key={at} at={at} isDone={done[at]!} isCurrent={at === current}>
            {step}
          </Step>
        ))}
      </ol>
    </section>
  );
}

const titles = [
  "Turn the channel on",
  "Say hello",
  "Put a program behind it",
  "Connect a device",
] as const;

interface StepProps {
  readonly at: number;
  readonly isDone: boolean;
  readonly isCurrent: boolean;
  readonly children: ComponentChildren;
}

/** A done step is one line. The current one shows what to do; later ones wait. */
function Step({ at, isDone, isCurrent, children }: StepProps): JSX.Element {
  return (
    <li
      class={isDone ? "done" : isCurrent ? "now" : ""}
      aria-current={isCurrent ? "step" : undefined}
    >
      <span class="no">{isDone ? <Icon name="check" small /> : at + 1}</span>
      <h3>
        {titles[at]}
        {isDone && <span class="unseen">, done</span>}
      </h3>
      {isCurrent && <div class="stack">{children}</div>}
    </li>
  );
}

function TurnOn({ guide, refresh }: GuideProps): JSX.Element {
  const channel = guide.status.channel!;
  const { isBusy, problem, act } = useChannelSwitch(channel, refresh);
  return (
    <>
      <p>Clients, also the chat of this dashboard, reach your application through the channel.</p>
      {canSwitch(channel) ? (
        <span class="scripted">
          <Button
            kind="primary"
            icon="power"
            busy={isBusy && "Turning on…"}
            onClick={() => act(true)}
          >
            Turn on channel
          </Button>
        </span>
      ) : (
        <p class="hint">The card below says how to turn it on.</p>
      )}
      <FieldProblem text={problem} />
    </>
  );
}

function Hello({ guide: { status } }: Pick<GuideProps, "guide">): JSX.Element {
  const { url } = useSite();
  return (
    <>
      <p>
        {status.echo
          ? "Write a message in the chat. An echo answers: it repeats what you write."
          : "Write a message in the chat. Your program answers."}
      </p>
      <div>
        <LinkButton kind="primary" icon="message-square" href={url("/chat")}>
          Open chat
        </LinkButton>
      </div>
    </>
  );
}

const exampleProgram = "python3 agent.py";

function Program({ guide: { firstSteps } }: Pick<GuideProps, "guide">): JSX.Element {
  const { url } = useSite();
  return (
    <>
      <p>
        An echo answers now: it repeats what you write. Start Doorward with your program instead, in
        the folder of the program.
      </p>
      <Copyable text={`${firstSteps.run} ${exampleProgram}`} label="Copy command" />
      <p class="hint">
        Replace <code>{exampleProgram}</code> with your program. First stop this Doorward: press
        Ctrl C where it runs. <a href={url("/docs/programs")}>Write your first program</a>
      </p>
    </>
  );
}

function Device(): JSX.Element {
  const { url } = useSite();
  return (
    <>
      <p>Your phone opens this dashboard. Other clients connect with a URL and a token.</p>
      <div class="row wrap">
        <LinkButton kind="primary" icon="qr-code" href={url("/security#link-title")}>
          Sign in on your phone
        </LinkButton>
        <LinkButton icon="plug" href={url("/clients")}>
          Connect a client
        </LinkButton>
        <LinkButton icon="globe" href={url("/doctor#public")}>
          Check the way in
        </LinkButton>
      </div>
    </>
  );
}
