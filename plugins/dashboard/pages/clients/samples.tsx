/** Code samples of one protocol in several languages. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { askToken } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { requestAsOwner } from "../live/owner.ts";
import { keep, readStored } from "../live/storage.ts";
import { Button } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { copyPending } from "../parts/copy.tsx";
import { Modal } from "../parts/modal.tsx";
import { Segment } from "../parts/segment.tsx";
import { placeholderOf } from "../../shared/token-rules.ts";
import type { ProtocolToken } from "../../shared/protocols.ts";
import type { Snippet } from "../../shared/snippets.ts";

interface SamplesProps {
  readonly snippets: readonly Snippet[];
  /** Name of the token that replaces the placeholder. */
  readonly token: "pico" | ProtocolToken;
  /** Name of that token inside a sentence. */
  readonly tokenName: string;
}

const storageKey = "doorward-sample-language";

export function Samples({ snippets, token, tokenName }: SamplesProps): JSX.Element {
  const [chosen, choose] = useChosen(token, snippets[0]!.id);
  const [toCopy, setToCopy] = useState<string>();
  const placeholder = placeholderOf(token);
  const snippet = snippets.find(({ id }) => id === chosen) ?? snippets[0]!;
  const copyWithToken = async (): Promise<void> => {
    let copied: Promise<boolean> | undefined;
    const withToken = (token: string): string => snippet.code.replace(placeholder, () => token);
    const answer = await askToken({
      title: `Copy with the ${tokenName}`,
      text: "The copied code contains the token in plain text. Treat it like a password.",
      verb: "Copy",
      send(current) {
        const body = { which: token, current };
        const sent = requestAsOwner<{ token: string }>("POST", "/api/token/reveal", body);
        const text = sent.then((reply) => {
          if ("error" in reply) throw new Error(reply.error.code);
          return withToken(reply.body.token);
        });
        copied = copyPending(text);
        return sent;
      },
    });
    if (!answer || "error" in answer) return;
    if (await copied) toast({ text: "Copied with the token" });
    else setToCopy(withToken(answer.body.token));
  };
  return (
    <>
      <Segment
        label={token === "pico" ? "Language" : "Client"}
        value={snippet.id}
        onChange={choose}
        options={snippets.map(({ id, label }) => ({ value: id, name: label }))}
      />
      <p class="hint">
        {snippet.hint} Replace <code>{placeholder}</code> with the {tokenName}.
      </p>
      <Code language={snippet.language} text={snippet.code} title={snippet.label} />
      <div class="row wrap">
        <Button icon="key-round" onClick={copyWithToken}>
          Copy with token…
        </Button>
      </div>
      {toCopy !== undefined && <ToCopy text={toCopy} close={() => setToCopy(undefined)} />}
    </>
  );
}

/** The chosen language, which the browser remembers. */
function useChosen(token: string, first: string): [string, (id: string) => void] {
  const [chosen, setChosen] = useState(first);
  const key = `${storageKey}-${token}`;
  useEffect(() => {
    const stored = readStored(key);
    if (typeof stored === "string") setChosen(stored);
  }, []);
  const choose = (id: string): void => {
    setChosen(id);
    keep(key, id);
  };
  return [chosen, choose];
}

/** Shows the text selected, for browsers without clipboard access. */
function ToCopy({ text, close }: { readonly text: string; readonly close: () => void }) {
  const key = /Mac|iPhone/.test(navigator.userAgent) ? "⌘ C" : "Ctrl C";
  const title = `Press ${key} to copy`;
  return (
    <Modal label={title} kind="wide" onClose={close}>
      <div class="in">
        <h2>{title}</h2>
        <textarea
          class="input mono"
          rows={10}
          readOnly
          aria-label="Code with the token"
          dir="ltr"
          data-autofocus
          value={text}
          onFocus={(event) => event.currentTarget.select()}
        />
        <footer>
          <Button kind="primary" onClick={close}>
            Done
          </Button>
        </footer>
      </div>
    </Modal>
  );
}
