// node three.mjs FILE.glb SECONDS,SECONDS,...: where three.js puts the vertices of the skinned meshes, as JSON
import fs from "node:fs";
import * as THREE from "three";
globalThis.self = globalThis;
const { GLTFLoader } = await import("three/examples/jsm/loaders/GLTFLoader.js");
const { MeshoptDecoder } = await import("meshoptimizer");
await MeshoptDecoder.ready;

const data = fs.readFileSync(process.argv[2]);
const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
const gltf = await new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).parseAsync(bytes, "");
const meshes = [];
gltf.scene.traverse((node) => node.isSkinnedMesh && meshes.push(node));
const mixer = new THREE.AnimationMixer(gltf.scene);
mixer.clipAction(gltf.animations[0]).setLoop(THREE.LoopOnce).play().clampWhenFinished = true;
const frames = [];
for (const seconds of process.argv[3].split(",").map(Number)) {
  mixer.setTime(seconds);
  gltf.scene.updateMatrixWorld(true);
  const points = [];
  for (const mesh of meshes) {
    const point = new THREE.Vector3();
    for (let number = 0; number < mesh.geometry.attributes.position.count; number++) {
      mesh.getVertexPosition(number, point);
      points.push(point.applyMatrix4(mesh.matrixWorld).toArray());
    }
  }
  frames.push(points);
}
const bones = meshes[0].skeleton.bones.map((bone) => bone.name);
console.log(JSON.stringify({ bones, clips: gltf.animations.map((clip) => clip.name), frames }));
