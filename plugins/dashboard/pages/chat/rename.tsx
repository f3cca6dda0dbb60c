/** The dialog that renames a conversation. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ConversationView } from "../../shared/conversation-views.ts";
import { requestAsOwner } from "../live/owner.ts";
import { toast } from "../frame/toasts.ts";
import { Button } from "../parts/button.tsx";
import { Modal } from "../parts/modal.tsx";
import type { ChatStore } from "./state/store.ts";

type Renamed = Pick<ConversationView, "conversation">;

interface RenameProps {
  readonly store: ChatStore;
  readonly id: string;
  readonly title: string;
  readonly close: () => void;
}

/** Asks for a title, and closes when the server has it. */
export function RenameForm({ store, id, title, close }: RenameProps): JSX.Element {
  const [problem, setProblem] = useState("");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem("title") as HTMLInputElement;
    const body = { title: field.value.trim() };
    const path = `/api/conversations/${id}`;
    const answer = await requestAsOwner<Renamed>("PATCH", path, body);
    if ("error" in answer) return setProblem(answer.error.message);
    store.list.update(answer.body.conversation);
    close();
    toast({ text: "Renamed" });
  };
  return (
    <Modal label="Rename conversation" onClose={close}>
      <form onSubmit={submit}>
        <h2>Rename conversation</h2>
        <div class="field">
          <label for="rename">Title</label>
          <input
            class="input"
            id="rename"
            name="title"
            maxLength={200}
            defaultValue={title}
            autocomplete="off"
            aria-describedby="rename-hint"
            data-autofocus
          />
          <p class="hint" id="rename-hint">
            An empty title restores the first words of the conversation.
          </p>
          <p class="problem" role="alert" hidden={problem === ""}>
            {problem}
          </p>
        </div>
        <footer>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary">
            Rename
          </Button>
        </footer>
      </form>
    </Modal>
  );
}
