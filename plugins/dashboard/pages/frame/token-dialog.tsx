/** The dialog that asks for a token before an act. @module */
import type { JSX } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { FieldProblem, Secret } from "../parts/field.tsx";
import { Modal } from "../parts/modal.tsx";
import type { ApiError, ApiResult } from "../live/api.ts";
import { second, serverNow } from "../live/clock.ts";
import { signOutReasonLabel } from "../../shared/sign-in-labels.ts";
import { unlimitedTokenLength } from "../../shared/token-rules.ts";
import type { TokenQuestion } from "./dialogs.ts";

type Answer = ApiResult<unknown> | undefined;

interface TokenDialogProps extends TokenQuestion<unknown> {
  readonly done: (answer: Answer) => void;
}

/** Sends the token until the server accepts it. A rate limit counts down on the dialog. */
export function TokenDialog(props: TokenDialogProps): JSX.Element | null {
  const { title, text, verb, danger, cancel = "Cancel", fields, keep } = props;
  const label = props.label ?? "Launcher token";
  const reason = props.reason?.value;
  const id = useId();
  const form = useTokenForm(props, label);
  // Reading the signal draws this again each second.
  const secondsLeft = second.value && Math.ceil((form.limitedUntil - serverNow()) / 1000);
  const isLimited = secondsLeft > 0 && form.token.trim().length < unlimitedTokenLength;
  if (form.isLeft) return null;
  return (
    <Modal label={title} keep={keep} onClose={() => void form.cancel()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isLimited) void form.submit();
        }}
        noValidate
      >
        <h2>{title}</h2>
        <p class="muted">
          {reason !== undefined && `${signOutReasonLabel(reason)} `}
          {text}
        </p>
        {fields}
        <input type="text" autocomplete="username" value="launcher" readOnly hidden />
        <div class="field">
          <label for={id}>{label}</label>
          <Secret
            id={id}
            secret={label.toLowerCase()}
            value={form.token}
            inputRef={form.input}
            onInput={(event) => form.change(event.currentTarget.value)}
            aria-invalid={form.problem !== undefined || undefined}
            aria-describedby={`${id}-problem`}
            data-autofocus
          />
          <FieldProblem id={`${id}-problem`} text={form.problem} />
          {secondsLeft > 0 && (
            <p class="hint" role="timer">
              Try again in {secondsLeft} s.
            </p>
          )}
        </div>
        <footer>
          <Button onClick={() => void form.cancel()}>{cancel}</Button>
          <Button
            type="submit"
            kind={danger ? "danger" : "primary"}
            busy={form.isSending && verb}
            disabled={isLimited}
          >
            {verb}
          </Button>
        </footer>
      </form>
    </Modal>
  );
}

function useTokenForm({ send, endsOn, done }: TokenDialogProps, label: string) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const [limitedUntil, setLimitedUntil] = useState(0);
  const [isSending, setSending] = useState(false);
  const [isLeft, setLeft] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const pending = useRef<Promise<Answer>>(undefined);
  const answered = useRef(false);
  const showProblem = (text: string): void => {
    setProblem(text);
    input.current?.focus();
    input.current?.select();
  };
  const submit = async (): Promise<void> => {
    if (isSending) return;
    const value = token.trim();
    if (value === "") return showProblem(`Enter the ${label.toLowerCase()}.`);
    const request = send(value);
    if (!request) return;
    setProblem(undefined);
    setLimitedUntil(0);
    setSending(true);
    pending.current = request;
    const answer = await request;
    if (answered.current) return;
    setSending(false);
    if (!("error" in answer) || endsOn?.(answer.error)) {
      answered.current = true;
      return done(answer);
    }
    showProblem(toSentence(answer.error, label));
    const { retryAfterSeconds } = answer.error;
    if (retryAfterSeconds !== undefined) setLimitedUntil(serverNow() + retryAfterSeconds * 1000);
  };
  return {
    token,
    problem,
    limitedUntil,
    isSending,
    /** True while the answer of a request is awaited that was sent before the user cancelled. */
    isLeft,
    input,
    submit,
    change(value: string): void {
      setToken(value);
      setProblem(undefined);
    },
    /** The server may complete a request that is under way. */
    async cancel(): Promise<void> {
      if (answered.current) return;
      answered.current = true;
      setLeft(true);
      const answer = await pending.current;
      done(answer && "body" in answer ? answer : undefined);
    },
  };
}

function toSentence({ status, code, message }: ApiError, label: string): string {
  const isWrong = code === "invalid_token" && (status === 401 || status === 403);
  return isWrong
    ? `That is not the ${label.toLowerCase()}. Check that you copied all of it.`
    : message;
}
