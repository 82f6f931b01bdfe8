"""Two layers for solve.py and compress.py: their options, wishes, arrays and figures."""

import native


def add_options(parser, needed):
    parser.add_argument("--virtual", type=int, metavar="M", required=needed, help="virtual bones, at most")
    parser.add_argument("--virtual-masters", type=int, metavar="C", help="most masters of each")
    parser.add_argument("--virtual-influences", type=int, choices=(2, 3, 4), help="of them a vertex")
    parser.add_argument("--virtual-tolerance", type=float, metavar="DELTA", help="as few as leave that error")
    parser.add_argument("--from", dest="source", choices=native.SOURCES, help="what is to be met")
    parser.add_argument("--affine", action="store_true", help="blends may be negative")
    parser.add_argument("--refine", action="store_true", help="masters and rest are solved along")
    parser.add_argument("--method", choices=native.METHODS, help="printed: the paper's own algorithm")


def compression_of(options, source):
    return native.Compression(
        virtual_bones=options.virtual,
        masters=options.virtual_masters,
        influences=options.virtual_influences,
        source=options.source or source,
        method=options.method,
        affine=options.affine,
        refine=options.refine,
        tolerance=options.virtual_tolerance,
    )


def arrays_of(rig, layers):
    """Without virtual bones, the dense weights over the masters themselves."""
    followed = layers if len(layers.virtual_bones) else rig
    return {
        "transforms": rig.transforms,
        "rest": rig.rest,
        "virtual_bones": layers.virtual_bones,
        "virtual_weights": layers.virtual_weights,
        "influence_bones": followed.influence_bones,
        "influence_weights": followed.influence_weights,
    }


def report(layers, info):
    return {
        "virtual": len(layers.virtual_bones),
        "virtual_delta": layers.delta,
        "virtual_dense_erms": layers.dense_erms,
        "virtual_seconds": info.seconds,
    }
