extends SceneTree
# What Godot 3 shows of a scene that it has imported: godot3-server --path PROJECT -s godot.gd SCENE SECONDS,...
# Skinned here, with its own poses and binds: without a screen nothing else does.

func _find(node, kind):
	if node.is_class(kind):
		return node
	for child in node.get_children():
		var found = _find(child, kind)
		if found:
			return found
	return null

func _matrices(skeleton, skin):
	var found = []
	for bind in skin.get_bind_count():
		var bone = skin.get_bind_bone(bind)
		if bone < 0:
			bone = skeleton.find_bone(skin.get_bind_name(bind))
		found.append(skeleton.get_bone_global_pose(bone) * skin.get_bind_pose(bind))
	return found

func _shown(mesh, matrices):
	var points = []
	for surface in mesh.get_surface_count():
		var arrays = mesh.surface_get_arrays(surface)
		var bones = arrays[Mesh.ARRAY_BONES]
		var weights = arrays[Mesh.ARRAY_WEIGHTS]
		var rest = arrays[Mesh.ARRAY_VERTEX]
		for vertex in rest.size():
			var point = Vector3()
			for slot in 4:
				var weight = weights[4 * vertex + slot]
				point += weight * matrices[bones[4 * vertex + slot]].xform(rest[vertex])
			points.append([point.x, point.y, point.z])
	return points

func _init():
	var given = OS.get_cmdline_args()
	var scene = load(given[given.size() - 2]).instance()
	get_root().add_child(scene)
	var skeleton = _find(scene, "Skeleton")
	var instance = _find(scene, "MeshInstance")
	var player = _find(scene, "AnimationPlayer")
	var clips = player.get_animation_list()
	player.play(clips[0])
	var frames = []
	for second in given[given.size() - 1].split(","):
		player.seek(float(second), true)
		frames.append(_shown(instance.mesh, _matrices(skeleton, instance.skin)))
	var bones = []
	for bone in skeleton.get_bone_count():
		bones.append(skeleton.get_bone_name(bone))
	var length = player.get_animation(clips[0]).length
	var file = File.new()
	file.open("res://shown.json", File.WRITE)
	file.store_string(to_json({"frames": frames, "bones": bones, "clips": clips, "length": length}))
	file.close()
	quit()
