// Sets keys of its own in a JSON and a YAML file, one update for each.
const [module, name, count, json, yaml] = process.argv.slice(2);
const { editJson, editYaml, updateFile } = await import(module);

for (let i = 0; i < Number(count); i++) {
  await updateFile(json, (text) => editJson(text, [{ path: ["keys", `${name}${i}`], value: i }]));
  await updateFile(yaml, (text) =>
    editYaml(text, ["channels", `${name}${i}`, "token"], `${name}-${i}`),
  );
}
