// A page with every component of the console, for tests/browser/parts.test.ts.
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { SessionsView } from "../../plugins/dashboard/shared/views.ts";
import { askToken, confirm } from "../../plugins/dashboard/pages/frame/dialogs.ts";
import { addShortcuts } from "../../plugins/dashboard/pages/frame/shortcuts.ts";
import { toast } from "../../plugins/dashboard/pages/frame/toasts.ts";
import { serverNow } from "../../plugins/dashboard/pages/live/clock.ts";
import { requestAsOwner } from "../../plugins/dashboard/pages/live/owner.ts";
import { useResource } from "../../plugins/dashboard/pages/live/resource.ts";
import { setStreamQuery, subscribe } from "../../plugins/dashboard/pages/live/stream.ts";
import { Button, IconButton, LinkButton } from "../../plugins/dashboard/pages/parts/button.tsx";
import { Copyable, CopyButton, copyText } from "../../plugins/dashboard/pages/parts/copy.tsx";
import { Code, Highlighted } from "../../plugins/dashboard/pages/parts/code.tsx";
import { Search, Secret, Switch } from "../../plugins/dashboard/pages/parts/field.tsx";
import { Menu } from "../../plugins/dashboard/pages/parts/menu.tsx";
import { Qr } from "../../plugins/dashboard/pages/parts/qr.tsx";
import { Segment } from "../../plugins/dashboard/pages/parts/segment.tsx";
import {
  Badge,
  Empty,
  Notice,
  PageHead,
  Problem,
  Skeleton,
} from "../../plugins/dashboard/pages/parts/states.tsx";
import { Ago, Since } from "../../plugins/dashboard/pages/parts/time.tsx";
import { startPage } from "../../plugins/dashboard/pages/start.tsx";

const now = Date.UTC(2026, 3, 14, 9, 30);

function Gallery() {
  const said = useSignal("");
  const say = (text: string) => {
    said.value = text;
  };
  useEffect(() => addShortcuts({ f: () => say("followed") }), []);
  useEffect(() => subscribe({ on: { refused: ({ code }) => say(`rejected: ${code}`) } }), []);
  return (
    <div class="page-in">
      <PageHead title="Parts" text="Every component.">
        <Menu
          label="Page menu"
          items={[
            { name: "Say hello", icon: "send", act: () => say("hello") },
            { name: "Open the channel", icon: "plug", href: "#channel" },
            "-",
            { name: "Delete…", icon: "trash-2", danger: true, act: () => void remove(say) },
          ]}
        />
      </PageHead>
      <output>{said}</output>
      <Live say={say} />
      <Fields say={say} />
      <States />
    </div>
  );
}

async function remove(say: (text: string) => void): Promise<void> {
  const question = { title: "Delete it?", text: "It is gone then.", verb: "Delete", danger: true };
  say((await confirm(question)) ? "deleted" : "kept");
}

function Live({ say }: { readonly say: (text: string) => void }) {
  const sessions = useResource<SessionsView | undefined>("/api/sessions", undefined, {
    refreshOn: ["signed-in"],
  });
  const ask = async (): Promise<void> => {
    const answer = await askToken({
      title: "Replace the token?",
      text: "Clients need the new one.",
      verb: "Replace",
      send: (current) => requestAsOwner("POST", "/api/tokens/pico/rotate", { current }),
    });
    say(answer ? "replaced" : "canceled");
  };
  return (
    <div class="row wrap">
      <span>Sign-ins: {sessions.value.value?.sessions.length ?? "unknown"}</span>
      <Button
        onClick={() => toast({ text: "Saved", action: { name: "Undo", act: () => say("undone") } })}
      >
        Save
      </Button>
      <Button kind="danger" onClick={() => toast({ text: "It failed", tone: "bad" })}>
        Fail
      </Button>
      <Button kind="primary" onClick={ask}>
        Replace…
      </Button>
      <Button onClick={() => setStreamQuery({ log: "warn" })}>Show warnings</Button>
      <Button busy="Saving…">Save all</Button>
      <LinkButton href="#docs" icon="book-open">
        Read
      </LinkButton>
      <IconButton icon="x" label="Close" />
      <CopyButton text={() => `copied at ${Math.sign(serverNow())}`} />
      <Button onClick={async () => say(String(await copyText("plain text")))}>Copy plainly</Button>
      <Ago at={now - 180_000} now={now} />
      <Since at={now - 180_000} now={now} />
    </div>
  );
}

function Fields({ say }: { readonly say: (text: string) => void }) {
  const [theme, setTheme] = useState<"a" | "b" | "c">("a");
  const [isOn, setOn] = useState(false);
  return (
    <div class="stack">
      <Segment
        label="Size"
        value={theme}
        onChange={setTheme}
        options={[
          { value: "a", name: "Small" },
          { value: "b", name: "Medium" },
          { value: "c", name: "Large" },
        ]}
      />
      <Search label="Filter parts" onText={(text) => say(`filter: ${text}`)} />
      <div class="field">
        <label for="token">Token</label>
        <Secret id="token" secret="token" />
      </div>
      <label class="row">
        <Switch checked={isOn} onChange={setOn} />
        Channel
      </label>
      <Copyable text="ws://127.0.0.1:18800/pico" label="Copy URL" />
    </div>
  );
}

function States() {
  const error = { status: 500, message: "The server answered with an error (500)." };
  return (
    <div class="stack">
      <div class="row">
        <Badge tone="ok">Running</Badge>
        <Badge tone="bad">Failed</Badge>
        <Badge>Default</Badge>
      </div>
      <Notice tone="warn">The connection is not encrypted.</Notice>
      <Empty icon="plug" title="No clients connected">
        Clients appear here as soon as they connect.
      </Empty>
      <Code language="python" title="agent.py" text={'def answer():\n    return "hello"'} />
      <Code language="json" text={"[\n" + "1,\n".repeat(500) + "1]"} />
      <code>
        <Highlighted language="json" text='{"a": 1}' />
      </code>
      <Qr text="http://127.0.0.1:18800/?token=ott_example" label="QR code with a sign-in link" />
      <Skeleton rows={3} />
      <Problem title="It could not be loaded." error={error} safe="Your data is safe." />
    </div>
  );
}

startPage(Gallery);
