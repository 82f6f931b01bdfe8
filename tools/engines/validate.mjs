// node validate.mjs FILE...: what the Khronos validator has to say, as JSON, a list of messages for each file
import fs from "node:fs";
import path from "node:path";
import validator from "gltf-validator";

const found = {};
for (const file of process.argv.slice(2)) {
  const beside = (uri) => fs.promises.readFile(path.join(path.dirname(file), decodeURIComponent(uri)));
  const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {
    uri: path.basename(file),
    externalResourceFunction: async (uri) => new Uint8Array(await beside(uri)),
  });
  found[file] = report.issues.messages;
}
console.log(JSON.stringify(found));
