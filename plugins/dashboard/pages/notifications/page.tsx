/** Settings › Notifications: this device, what is sent, and all devices. @module */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { browserLabel } from "../../shared/client-labels.ts";
import type { DeviceView, NotificationsView, TestSent } from "../../shared/notification-views.ts";
import type { SettingsView } from "../../shared/views.ts";
import { toast } from "../frame/toasts.ts";
import { requestAsOwner } from "../live/owner.ts";
import { useResource } from "../live/resource.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Badge, Notice, PageHead } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { draftOf } from "../settings/form.ts";
import { FixedRow, SettingRow } from "../settings/row.tsx";
import { SaveBar } from "../settings/save-bar.tsx";
import { useSettingsForm, type SettingsForm } from "../settings/use-form.ts";
import { useSite } from "../site.tsx";
import {
  missingHere,
  ownDevice,
  removeDevice,
  turnOff,
  turnOn,
  type DeviceState,
} from "./device.ts";

/** Data of the page. */
export interface NotificationsData {
  readonly settings: SettingsView;
  /** This deployment sends notifications. */
  readonly isOffered: boolean;
  /** Server time of the document. */
  readonly now: number;
  /** Addresses of this dashboard that stay, if this one changes at each start. */
  readonly lasting?: readonly string[];
}

export function NotificationsPage({ data }: { readonly data: NotificationsData }): JSX.Element {
  const { url } = useSite();
  const settings = useResource("/api/settings", data.settings, { refreshOn: ["settings"] });
  const form = useSettingsForm(settings.value, settings.refresh);
  const own = form.settings.value.filter(({ section }) => section === "push");
  return (
    <div class="page-in">
      <PageHead
        title="Notifications"
        text={
          <>
            They reach you when a question waits or an answer is ready.{" "}
            <a href={url("/settings")}>All settings</a>
          </>
        }
      />
      {data.lasting ? (
        <PrivateHost lasting={data.lasting} />
      ) : data.isOffered ? (
        <Devices now={data.now} form={form} />
      ) : (
        <Notice tone="info">This deployment has no notifications.</Notice>
      )}
      {own.length > 0 && (
        <section class="group" aria-labelledby="title-sent">
          <h2 id="title-sent">Sent to all devices</h2>
          <p>Nothing is sent while you look at the chat.</p>
          <div class="card">
            {own.map((setting) =>
              setting.fixedBy === undefined ? (
                <SettingRow key={setting.id} setting={setting} form={form} />
              ) : (
                <FixedRow key={setting.id} setting={setting} />
              ),
            )}
          </div>
        </section>
      )}
      <SaveBar form={form} />
    </div>
  );
}

function PrivateHost({ lasting }: { readonly lasting: readonly string[] }): JSX.Element {
  return (
    <Here
      state="private-host"
      title="This address changes at each start"
      text="Notifications and the installed page need an address that stays. Open one of these:"
    >
      <ul class="lasting">
        {lasting.map((address) => (
          <li key={address}>
            <a href={address}>{address}</a>
          </li>
        ))}
      </ul>
    </Here>
  );
}

interface HereProps {
  readonly state: DeviceState;
  readonly title: string;
  readonly text?: ComponentChildren;
  /** Buttons. */
  readonly end?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The card about this device. */
function Here({ state, title, text, end, children }: HereProps): JSX.Element {
  const look = state === "on" || state === "ready" || state === "checking" ? state : "missing";
  const icons = { on: "bell-ring", ready: "bell", checking: "bell", missing: "bell-off" } as const;
  return (
    <section class={`card device-state ${look}`} aria-labelledby="title-here">
      <span class="disc">
        <Icon name={icons[look]} />
      </span>
      <div>
        <h2 id="title-here">{title}</h2>
        {text !== undefined && <p>{text}</p>}
        {children}
      </div>
      {end !== undefined && <div class="row">{end}</div>}
    </section>
  );
}

interface DevicesProps {
  readonly now: number;
  readonly form: SettingsForm;
}

function Devices({ now, form }: DevicesProps): JSX.Element {
  const { value, refresh } = useResource<NotificationsView | undefined>(
    "/api/x/push/state",
    undefined,
  );
  const [state, setState] = useState<DeviceState>("checking");
  const [own, setOwn] = useState<string | undefined>(undefined);
  const { devices = [] } = value.value ?? {};
  const check = async (): Promise<void> => {
    const missing = missingHere(false);
    const id = missing === undefined ? await ownDevice() : undefined;
    await refresh();
    const isOn = value.peek()?.devices.some((device) => device.id === id) === true;
    setOwn(isOn ? id : undefined);
    setState(missing ?? (isOn ? "on" : "ready"));
  };
  useEffect(() => void check(), []);
  return (
    <>
      <ThisDevice state={state} own={own} view={value.value} check={check} />
      {state === "on" && <KeepSignIns form={form} />}
      <section class="group" aria-labelledby="title-devices">
        <h2 id="title-devices">Devices</h2>
        <p>Each device is turned on by itself.</p>
        {devices.length === 0 ? (
          <p class="muted">No device receives notifications.</p>
        ) : (
          <ul class="card">
            {devices.map((device) => (
              <Device key={device.id} {...{ device, now, check }} isOwn={device.id === own} />
            ))}
          </ul>
        )}
      </section>
    </>
  );
}

interface ThisDeviceProps {
  readonly state: DeviceState;
  readonly own: string | undefined;
  readonly view: NotificationsView | undefined;
  readonly check: () => Promise<void>;
}

function ThisDevice({ state, own, view, check }: ThisDeviceProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const start = async (): Promise<void> => {
    if (!view) return;
    setBusy(true);
    setProblem(await turnOn(view));
    await check();
    setBusy(false);
  };
  if (state === "on") return <OnHere own={own!} check={check} />;
  const isReady = state === "ready" || state === "checking";
  if (!isReady) return <MissingHere state={state} />;
  return (
    <Here
      state={state}
      title="Notifications are off for this device"
      text="The browser asks for your permission after you turn them on."
      end={
        <Button
          kind="primary"
          icon="bell"
          disabled={state === "checking" || !view}
          busy={busy && "Turning on…"}
          onClick={() => void start()}
        >
          Turn on
        </Button>
      }
    >
      <div role="alert">{problem !== undefined && <p class="bad">{problem}</p>}</div>
    </Here>
  );
}

function OnHere({ own, check }: { own: string; check: () => Promise<void> }): JSX.Element {
  return (
    <Here
      state="on"
      title="Notifications are on for this device"
      end={
        <>
          <Button icon="send" onClick={() => void sendTest(own)}>
            Send a test
          </Button>
          <Button kind="ghost" onClick={() => void remove(own, true).then(check)}>
            Turn off
          </Button>
        </>
      }
    />
  );
}

/** Says the one thing that is missing. A button that cannot work never appears. */
function MissingHere({ state }: { readonly state: DeviceState }): JSX.Element {
  const { url } = useSite();
  if (state === "home-screen") return <HomeScreen />;
  if (state === "insecure")
    return (
      <Here
        state={state}
        title="Notifications need https"
        text={
          <>
            Browsers offer them at https addresses and at localhost only.{" "}
            <a href={url("/docs/deploy")}>Serve Doorward with https</a>, for example with Tailscale
            Serve or Caddy.
          </>
        }
      />
    );
  if (state === "blocked")
    return (
      <Here
        state={state}
        title="This browser blocks notifications of Doorward"
        text={
          "You denied them earlier, and a page cannot ask again. Allow them in the settings of " +
          "this site in the browser, then reload."
        }
        end={<Button onClick={() => location.reload()}>Reload</Button>}
      />
    );
  return (
    <Here
      state={state}
      title="This browser has no notifications"
      text="iPhones and iPads need iOS 16.4 or newer. Private windows of some browsers have none."
    />
  );
}

function HomeScreen(): JSX.Element {
  return (
    <Here
      state="home-screen"
      title="Add Doorward to the Home Screen first"
      text={
        "iPhones and iPads show notifications only for pages on the Home Screen, with iOS 16.4 " +
        "or newer."
      }
    >
      <ol class="needs">
        <li>Tap the Share button of Safari.</li>
        <li>Tap “Add to Home Screen”.</li>
        <li>Open Doorward from the Home Screen, and sign in there once more.</li>
        <li>Come back to this page, and turn notifications on.</li>
      </ol>
    </Here>
  );
}

/** A sign-in that ends with a restart ends the notifications of its device. */
function KeepSignIns({ form }: { readonly form: SettingsForm }): JSX.Element | null {
  const setting = form.settings.value.find(({ id }) => id === "launcher-keep_sign_ins");
  if (!setting || setting.stored === true || setting.fixedBy !== undefined) return null;
  const keep = (): void => {
    form.edit(setting, draftOf(setting, true, setting.stored));
    void form.save();
  };
  return (
    <Notice tone="warn">
      <p>
        A restart of Doorward signs this device out, and its notifications end. Keep sign-ins, and a
        restart does not silence it.
      </p>
      <Button compact onClick={keep}>
        Keep sign-ins over a restart
      </Button>
    </Notice>
  );
}

interface DeviceProps {
  readonly device: DeviceView;
  readonly now: number;
  readonly isOwn: boolean;
  readonly check: () => Promise<void>;
}

function Device({ device, now, isOwn, check }: DeviceProps): JSX.Element {
  const { id, userAgent, createdAt, lastAt, problem, hasButtons } = device;
  const name = browserLabel(userAgent) || "Unknown browser";
  const icon = /Android|iPhone|iPad/.test(userAgent) ? "smartphone" : "laptop";
  return (
    <li class="device">
      <span class="disc">
        <Icon name={icon} />
      </span>
      <div>
        <span class="row wrap">
          <b>{name}</b>
          {isOwn && <Badge tone="ok">This device</Badge>}
          {problem !== undefined && <Badge tone="warn">Not reached: {problem}</Badge>}
          {!hasButtons && <Badge>Signed out: no buttons</Badge>}
        </span>
        <p class="muted small">
          {"On since "}
          <Ago at={createdAt} now={now} />
          {lastAt !== undefined && (
            <>
              {" · last one "}
              <Ago at={lastAt} now={now} />
            </>
          )}
        </p>
      </div>
      <div class="row">
        <Button compact aria-label={`Test ${name}`} onClick={() => void sendTest(id).then(check)}>
          Test
        </Button>
        <Button
          compact
          aria-label={`Remove ${name}`}
          onClick={() => void remove(id, isOwn).then(check)}
        >
          Remove
        </Button>
      </div>
    </li>
  );
}

async function remove(id: string, isOwn: boolean): Promise<void> {
  const result = await (isOwn ? turnOff(id) : removeDevice(id));
  if ("error" in result) toast({ text: result.error.message, tone: "bad" });
}

async function sendTest(id: string): Promise<void> {
  const result = await requestAsOwner<TestSent>("POST", `/api/x/push/subscriptions/${id}/test`, {});
  if ("error" in result) return toast({ text: result.error.message, tone: "bad" });
  const { outcome, problem = "" } = result.body;
  if (outcome === "sent") toast({ text: "Sent. It appears in a moment." });
  else toast({ text: `Not sent: ${problem}.`, tone: "bad" });
}
