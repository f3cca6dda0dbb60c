/** Four figures, each a link to its page. @module */
import type { ComponentChildren, JSX } from "preact";
import type { FiguresView } from "../../shared/figure-views.ts";
import type { ChannelView } from "../../shared/views.ts";
import { Spark } from "../parts/spark.tsx";
import { useSite } from "../site.tsx";
import { formatCount } from "../../shared/format.ts";

/** Minutes of the small lines. */
const sparkMinutes = 30;

interface TileProps {
  readonly href: string;
  readonly title: string;
  readonly value: string;
  readonly unit: string;
  readonly detail: string;
  readonly children: ComponentChildren;
}

function Tile({ href, title, value, unit, detail, children }: TileProps): JSX.Element {
  const { url } = useSite();
  return (
    <a class="card tile" href={url(href)}>
      <span class="t">{title}</span>
      <span class="v">
        {value} <small>{unit}</small>
      </span>
      {children}
      <span class="d">{detail}</span>
    </a>
  );
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** @returns A time as number and unit: "640", "ms" or "1.8", "s". */
function duration(ms: number): readonly [string, string] {
  if (ms < 1000) return [String(Math.round(ms)), "ms"];
  if (ms < 60_000) return [String(Math.round(ms / 100) / 10), "s"];
  return [String(Math.round(ms / 6000) / 10), "min"];
}

interface TilesProps {
  readonly figures: FiguresView;
  readonly channel: ChannelView | undefined;
  /** Failed sign-ins in the list of the status. */
  readonly failedSignIns: number;
}

export function Tiles({ figures, channel, failedSignIns }: TilesProps): JSX.Element {
  const { hour, answers, mostConnections } = figures;
  const both = hour.in.map((value, at) => value + hour.out[at]!);
  const [median, unit] = duration(answers.medianMs);
  const recent = (values: readonly number[]): readonly number[] => values.slice(-sparkMinutes);
  const rejected = sum(hour.rejected);
  return (
    <div class="tiles">
      <Tile
        href="/clients/connections"
        title="Connections"
        value={formatCount(channel?.connections ?? 0)}
        unit={channel ? `of ${formatCount(channel.maxConnections)}` : ""}
        detail={`Highest today: ${formatCount(mostConnections)}`}
      >
        <Spark values={recent(hour.connections)} />
      </Tile>
      <Tile
        href="/chat"
        title="Messages"
        value={formatCount(both.at(-1)!)}
        unit="this minute"
        detail={`${formatCount(sum(both))} in the last hour`}
      >
        <Spark values={recent(both)} />
      </Tile>
      <Tile
        href="/activity"
        title="Answer time"
        value={answers.count === 0 ? "–" : median}
        unit={answers.count === 0 ? "" : `${unit} median`}
        detail={
          answers.count === 0
            ? "None in the last hour"
            : `95% under ${duration(answers.p95Ms).join(" ")}`
        }
      >
        <Spark values={recent(hour.answerMs)} />
      </Tile>
      <Tile
        href="/activity"
        title="Rejected"
        value={formatCount(rejected)}
        unit="last hour"
        detail={failedSignIns === 0 ? "No failed sign-ins" : `Failed sign-ins: ${failedSignIns}`}
      >
        <Spark values={recent(hour.rejected)} second />
      </Tile>
    </div>
  );
}
