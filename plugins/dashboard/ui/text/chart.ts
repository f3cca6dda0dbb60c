// Computes the bars of the messages-per-minute chart. The server draws it; the browser updates it.
export const chartWidth = 300;
export const chartHeight = 60;
const barGap = 4;
const minBarHeight = 1;

interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Tooltip of the bar. */
  readonly label: string;
}

/**
 * Returns one bar per minute, the newest on the right.
 * An empty minute keeps a bar of height 1, so that the axis stays visible.
 */
export function chartBars(perMinute: readonly number[]): readonly Bar[] {
  const step = (chartWidth + barGap) / Math.max(1, perMinute.length);
  const top = Math.max(1, ...perMinute);
  return perMinute.map((messages, index) => {
    const height =
      messages === 0 ? minBarHeight : Math.max(3, Math.round((messages / top) * chartHeight));
    const count = messages === 1 ? "1 message" : `${messages} messages`;
    return {
      x: round(index * step),
      y: chartHeight - height,
      width: round(step - barGap),
      height,
      label: `${minutesAgo(perMinute.length - 1 - index)}: ${count}`,
    };
  });
}

/** Describes the whole chart in one sentence, for screen readers. */
export function chartSentence(perMinute: readonly number[]): string {
  const total = perMinute.reduce((sum, n) => sum + n, 0);
  if (total === 0) return "No messages in the last 10 minutes.";
  return `Messages per minute over the last 10 minutes, oldest first: ${perMinute.join(", ")}.`;
}

function minutesAgo(n: number): string {
  return n === 0 ? "This minute" : `${n} min ago`;
}

function round(n: number): number {
  return Math.round(n * 100) / 100;
}
