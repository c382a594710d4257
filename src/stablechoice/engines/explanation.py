"""One line for each way in which a route is given up: what happened, where it is mended, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence

from stablechoice.engines.retry import Failure
from stablechoice.engines.route import Route

STOPPED = "the run was stopped"
"""Detail of a request that was never tried since others had failed."""

TOO_SLOW = "no answer within the time limit"
"""Detail of a try that took too long."""


def refused(route: Route, failure: Failure) -> str:
    """The route takes no request at all: its key, the model's name, log-probabilities, or the account's money."""
    if failure.kind == "key":
        named = route.key_variable or "no key"
        return (
            f"route {route.name} refuses the key of {named} ({failure.detail}): put a valid key into the "
            f"environment or .env; key 'key_variable' of {route.engine_file} names the variable"
        )
    if failure.kind == "model":
        return (
            f"route {route.name} knows no model {route.served_as!r} at {route.base_url} ({failure.detail}): mend "
            f"'served_as' of {route.model_file}, or 'base_url' of {route.engine_file}"
        )
    if failure.kind == "letters":
        return (
            f"route {route.name} gives no log-probabilities ({failure.detail}): ask another route, and set "
            f"'ask_letters' of {route.engine_file} to null"
        )
    return f"route {route.name} asks for money first ({failure.detail}): top the account up, then run this again"


def asks_to_wait(route: Route, failure: Failure) -> str:
    """The route wants to be left alone for longer than the run is patient."""
    return (
        f"route {route.name} asks to wait {failure.wait or 0.0:.0f} s ({failure.detail}), longer than "
        f"'patience_seconds' allows: run the same command again after that"
    )


def given_up(route: Route, failures: Sequence[Failure], *, proven: bool, limits: str) -> str:
    """Requests failed in a row, or nothing but failures came.

    Args:
        proven: whether any request of the run succeeded.
        limits: where the limits stand.
    """
    tried = [failure for failure in failures if failure.detail != STOPPED] or [failures[-1]]
    last = tried[-1]
    proof = "" if proven else ", and none of this run succeeded"
    mend = f"see 'base_url' of {route.engine_file} and 'served_as' of {route.model_file}"
    if last.detail == TOO_SLOW:
        mend = f"raise 'timeout_seconds' or lower 'concurrency' in {limits}, or {mend}"
    if not proven and last.kind == "request":
        mend += f"; if only these requests are at fault, set 'settle_unproven' in {limits}"
    return (
        f"route {route.name} failed {len(tried)} requests in a row{proof}, the last with: {last.detail} | "
        f"{mend}; they stay unanswered, run the same command again when the route works"
    )


def no_jobs(route: Route, failure: Failure) -> str:
    """A call about a batch job failed for good."""
    return (
        f"route {route.name} does not take or give a batch job ({failure.detail}): see 'base_url' and 'jobs' "
        f"of {route.engine_file}; jobs under way are found again by the same command"
    )


def job_is_gone(route: Route, provider_id: str, failure: Failure) -> str:
    """The provider says that it has no such job, although it once took it."""
    # Sending its requests again may pay them twice: the job may be there, and only this key may not see it.
    return (
        f"route {route.name} has no job {provider_id} ({failure.detail}): use the key of the account that "
        f"submitted it, or set forget_missing in 'jobs' of {route.engine_file} to send its requests again"
    )


def no_room(route: Route, reason: str) -> str:
    """The account's queue holds no job of this size, and none of ours is in it."""
    return (
        f"route {route.name} has no room for a job in the account's queue ({reason}): wait for other jobs of the "
        f"account, or lower 'requests_per_job' in 'jobs' of {route.engine_file}, and run the same command again"
    )


def unreadable(route: Route, provider_id: str) -> str:
    """What should be a job's results is something else."""
    return (
        f"route {route.name} gives something else than results for job {provider_id} (a proxy's page?): see 'base_url' "
        f"of {route.engine_file} and what stands between; its requests are not sent again, run the same command again"
    )


def taken_elsewhere(route: Route, held: str) -> str:
    """Another process works with the same jobs."""
    return (
        f"route {route.name}: another process is working with its batch jobs (another study with the same model?), and "
        f"nothing may be submitted twice: {held}"
    )
