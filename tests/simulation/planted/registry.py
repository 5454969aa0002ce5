"""All planted bugs, by name."""

from collections.abc import Mapping

from tests.simulation.planted import (
    answering,
    asking,
    fencing,
    judging,
    reading,
    settling,
    sleeping,
)
from tests.simulation.planted.bug import Bug

BUGS: Mapping[str, type[Bug]] = {
    "doze rule": sleeping.DozeRule,
    "dropped rest": sleeping.DroppedRest,
    "lost wake-up": sleeping.LostWakeUp,
    "unnoticed failover": sleeping.UnnoticedFailover,
    "silent add": sleeping.SilentAdd,
    "forgotten due time": sleeping.ForgottenDueTime,
    "fence without tries": fencing.FenceWithoutTries,
    "fence without message": fencing.FenceWithoutMessage,
    "late commit": fencing.LateCommit,
    "double owner": fencing.DoubleOwner,
    "short lease": fencing.ShortLease,
    "clean takeover": fencing.CleanTakeover,
    "lost settlement": settling.LostSettlement,
    "delivered on failure": settling.DeliveredOnFailure,
    "given up early": settling.GivenUpEarly,
    "refunded too much": settling.RefundedTooMuch,
    "outage counted": settling.OutageCounted,
    "fifo gap": reading.FifoGap,
    "early bird": reading.EarlyBird,
    "pause ignored": reading.PauseIgnored,
    "old address": reading.OldAddress,
    "rate forgotten": reading.RateForgotten,
    "concurrency forgotten": reading.ConcurrencyForgotten,
    "order forgotten": reading.OrderForgotten,
    "leaked hold": judging.LeakedHold,
    "one tenant speaks": judging.OneTenantSpeaks,
    "acknowledged early": asking.AcknowledgedEarly,
    "narrow fan-out": asking.NarrowFanOut,
    "cancel forgotten": asking.CancelForgotten,
    "resend forgotten": asking.ResendForgotten,
    "task forgotten": asking.TaskForgotten,
    "deaf to Retry-After": answering.DeafToRetryAfter,
    "timeout is success": answering.TimeoutIsSuccess,
    "lost answer": answering.LostAnswer,
    "probe storm": answering.ProbeStorm,
    "restless": answering.Restless,
    "lying explanation": answering.LyingExplanation,
}
