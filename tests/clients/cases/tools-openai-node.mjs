// {"client":"openai (Node, runTools)","protocol":"openai","application":"tools.py","packages":["openai@6.49.0"]}
import OpenAI from "openai";
import { baseURL, done, equal, token } from "./check.mjs";

const client = new OpenAI({ baseURL, apiKey: token, maxRetries: 0 });
const parameters = { type: "object", properties: { city: { type: "string" } } };
const cities = [];
const weather = ({ city }) => {
  cities.push(city);
  return "sunny";
};
const tools = [
  {
    type: "function",
    function: { name: "weather", parameters, parse: JSON.parse, function: weather },
  },
];
const messages = [{ role: "user", content: "Rome" }];
const model = "doorward";
const whole = client.chat.completions.runTools({ model, messages, tools });
equal("tools", await whole.finalContent(), "The client says: sunny");
const streamed = client.chat.completions.runTools({ model, messages, tools, stream: true });
equal("streamed tools", await streamed.finalContent(), "The client says: sunny");
equal("tools", cities, ["Rome", "Rome"]);

const input = [{ role: "user", content: "Oslo" }];
const offered = [{ type: "function", name: "weather", parameters, strict: false }];
const first = await client.responses.create({ model, input, tools: offered });
const [call] = first.output.filter(({ type }) => type === "function_call");
equal("tools of responses", JSON.parse(call.arguments), { city: "Oslo" });
const output = { type: "function_call_output", call_id: call.call_id, output: "snow" };
const turns = [...input, ...first.output, output];
const second = await client.responses.create({ model, input: turns, tools: offered });
equal("tools of responses", second.output_text, "The client says: snow");
const stream = client.responses.stream({ model, input, tools: offered });
const { output: parts } = await stream.finalResponse();
equal("tools of responses", parts[0].parsed_arguments ?? JSON.parse(parts[0].arguments), {
  city: "Oslo",
});
done();
