"""Small solves, and the sentence when one is refused."""

import pytest

import native


def few(**chosen):
    return native.Settings(**{"bones": 3, "quality": "draft", "threads": 1, **chosen})


def refusal(*arguments, **named):
    with pytest.raises(native.OssifyError) as caught:
        native.decompose(*arguments, **named)
    assert caught.value.status == native.Status.BAD_ARGUMENT
    return str(caught.value)
