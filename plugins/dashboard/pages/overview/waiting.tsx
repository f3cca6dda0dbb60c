/** Questions that wait for an answer, first on the overview. @module */
import type { JSX } from "preact";
import type { QuestionsView } from "../../shared/question-views.ts";
import { useResource } from "../live/resource.ts";
import { LinkButton } from "../parts/button.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";

interface WaitingProps {
  readonly first: QuestionsView;
  readonly now: number;
}

/** The content is not in sight here, so the action is to open the question, never to allow it. */
export function WaitingQuestions({ first, now }: WaitingProps): JSX.Element | null {
  const { url } = useSite();
  const { value } = useResource("/api/questions", first, {
    refreshOn: ["questions"],
  });
  const { questions } = value.value;
  if (questions.length === 0) return null;
  return (
    <section class="card waiting" aria-label="Waiting for you">
      <h2>Waiting for you</h2>
      <ul>
        {questions.map(({ id, session, label, at }) => (
          <li key={id} class="row wrap">
            <div class="grow">
              <b dir="auto">{label}</b>
              <p>
                {session}, <Ago at={at} now={now} />
              </p>
            </div>
            <LinkButton
              kind="primary"
              href={url(`/ask/${encodeURIComponent(session)}/${encodeURIComponent(id)}`)}
              aria-label={`Answer ${label}`}
            >
              Answer
            </LinkButton>
          </li>
        ))}
      </ul>
    </section>
  );
}
