// The program behind the launcher of pictures.ts: it thinks, calls a tool and answers in markdown.
import { createInterface } from "node:readline";

const script = `Yes, leave them closed. The **bedroom** will be the warmest room at noon:

| Room    |    Now | At noon |
| ------- | -----: | ------: |
| Bedroom | 22.4 °C | 25.1 °C |
| Kitchen | 21.8 °C | 23.0 °C |

This rule opens the blinds as soon as the sun has passed:

\`\`\`python
@every("15 min")
def blinds(home):
    if home.sun.azimuth > 230 and home.bedroom.temperature < 24:
        home.blinds["bedroom"].open()
\`\`\`

Shall I switch it on?`;

/** Replies by a word of the question. */
const replies = [
  ["blinds", script],
  ["lights", "The lights in the hall are off now."],
  ["water", "Not today: 8 mm of rain fell last night."],
  ["shopping", "Added. The list has 4 items: milk, bread, apples, coffee."],
];

const write = (payload, type = "message.create") =>
  process.stdout.write(`${JSON.stringify({ type, payload })}\n`);

process.stderr.write("home agent 2.1, 14 devices found\n");
write({ can: ["stop"] }, "ready");
for await (const line of createInterface({ input: process.stdin })) {
  const { type, id: request_id, payload } = JSON.parse(line);
  if (type !== "message.send") continue;
  const [word, content] = replies.find(([key]) => payload.content.includes(key)) ?? [];
  if (word === "blinds") {
    const thought = "Blinds matter while the sun shines into the room. I need the temperatures.";
    const tool_calls = [
      ["read_sensors", { rooms: ["bedroom", "kitchen"] }],
      ["forecast", { hours: 6 }],
    ].map(([name, values], at) => ({
      id: `call-${at}`,
      function: { name, arguments: JSON.stringify(values) },
    }));
    write({ request_id, message_id: `${request_id}-t`, kind: "thought", content: thought });
    const message_id = `${request_id}-c`;
    write({ request_id, message_id, kind: "tool_calls", content: "", tool_calls });
  }
  const suggestions = word === "blinds" ? ["Close them at 13:00", "Only the kitchen", "Why?"] : [];
  const text = content ?? "I will remind you.";
  write({ request_id, content: text, model_name: "qwen3:8b", suggestions });
}
