// Rewrites a large file indefinitely; prints each number after its write has settled.
import { writeSync } from "node:fs";

const [module, path] = process.argv.slice(2);
const { updateFile } = await import(module);

for (;;) {
  let number = 0;
  await updateFile(path, (text) => {
    number = Number(/^# (\d+)/.exec(text)?.[1] ?? 0) + 1;
    return `# ${number}\n${`line of ${number}\n`.repeat(4_000)}# end of ${number}\n`;
  });
  writeSync(1, `${number}\n`);
}
