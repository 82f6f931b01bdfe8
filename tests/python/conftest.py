import pytest

import made_up


@pytest.fixture(scope="module")
def eel():
    return made_up.eel(vertices=400, frames=12, bones=3)


@pytest.fixture(scope="module")
def large():
    """Enough work for a job to be caught at it."""
    return made_up.eel(vertices=20000, frames=40, bones=10)
