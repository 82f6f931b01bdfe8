// node babylon.mjs FILE.glb SECONDS,SECONDS,...: where Babylon.js puts the vertices of the skinned meshes, as JSON
import fs from "node:fs";
import { NullEngine, Scene, FreeCamera, Vector3, LoadAssetContainerAsync, Logger } from "@babylonjs/core";
import "@babylonjs/loaders/glTF/2.0/index.js";

Logger.LogLevels = Logger.NoneLogLevel; // what is written here is the answer alone
const scene = new Scene(new NullEngine());
scene.useRightHandedSystem = true;
scene.activeCamera = new FreeCamera("camera", Vector3.Zero(), scene);
const bytes = new Uint8Array(fs.readFileSync(process.argv[2]));
const container = await LoadAssetContainerAsync(bytes, scene, { pluginExtension: ".glb" });
container.addAllToScene();
const group = container.animationGroups[0];
container.animationGroups.forEach((other) => other.stop());
group.start(false);
group.pause();
const meshes = container.meshes.filter((mesh) => mesh.skeleton);
const frames = [];
for (const seconds of process.argv[3].split(",").map(Number)) {
  const rate = group.targetedAnimations[0].animation.framePerSecond;
  group.goToFrame(Math.min(seconds * rate, group.to));
  scene.render();
  const points = [];
  for (const mesh of meshes) {
    mesh.skeleton.prepare(true);
    const data = mesh.getPositionData(true, true);
    const world = mesh.computeWorldMatrix(true);
    for (let number = 0; number < data.length; number += 3) {
      points.push(Vector3.TransformCoordinates(Vector3.FromArray(data, number), world).asArray());
    }
  }
  frames.push(points);
}
const clips = container.animationGroups.map((some) => some.name);
const bones = meshes[0].skeleton.bones.map((bone) => bone.name);
process.stdout.write(JSON.stringify({ bones, clips, frames }), () => process.exit(0)); // its timers would go on
