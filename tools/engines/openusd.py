"""python openusd.py FILE.usdc FRAMES: where OpenUSD puts the vertices, as JSON, with Y up as in glTF"""

import json
import sys

import numpy as np
from pxr import Usd, UsdGeom, UsdSkel

stage = Usd.Stage.Open(sys.argv[1])
root = UsdSkel.Root(next(prim for prim in stage.Traverse() if prim.IsA(UsdSkel.Root)))
cache = UsdSkel.Cache()
cache.Populate(root, Usd.PrimDefaultPredicate)
(binding,) = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
skeleton = cache.GetSkelQuery(binding.GetSkeleton())
(target,) = binding.GetSkinningTargets()
mesh = UsdGeom.Mesh(target.GetPrim())

vertices = len(mesh.GetPointsAttr().Get())
motion = skeleton.GetAnimQuery()
scales = motion.ComputeJointLocalTransformComponents(1.0)[2]
assert len(scales) == len(motion.GetJointOrder()), "a joint has no scale: UsdSkel then takes no motion at all"
indices, weights = target.ComputeJointInfluences()
influences = target.GetNumInfluencesPerComponent()
assert len(indices) == len(weights) == influences * vertices, "elementSize is not what a vertex has"
most = (np.array(weights).reshape(vertices, influences) > 0).sum(axis=1).max()
assert most == influences, f"elementSize is {influences}, and no vertex has more than {most}"

frames = []
for number in range(int(sys.argv[2])):
    time = stage.GetStartTimeCode() + number
    points = mesh.GetPointsAttr().Get(time)
    target.ComputeSkinnedPoints(skeleton.ComputeSkinningTransforms(time), points, time)
    place = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(skeleton.GetPrim()))
    points = np.array(points) @ place[:3, :3] + place[3, :3]
    frames.append(np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1).tolist())
bones = [str(joint).rpartition("/")[2] for joint in skeleton.GetJointOrder()]
print(json.dumps({"bones": bones, "frames": frames}))
