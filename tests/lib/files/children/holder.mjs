// Takes a lock and keeps it.
const [module, path] = process.argv.slice(2);
const { lockFile } = await import(module);

await lockFile(path, { waitMs: 0 });
console.log("held");
setInterval(() => {}, 1_000);
