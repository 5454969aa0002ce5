"""Traps that retry libraries fall into, each found in one that people use; tarry is to pass all.

The test of a trap is in the file `test_<name>.py`.

| trap | what goes wrong elsewhere                               | name                      |
|------|---------------------------------------------------------|---------------------------|
| T1   | clamping after the jitter piles the waits up on the cap | `t01_jitter_at_the_cap`   |
| T2   | state shared by calls: wrong errors, lost attempts      | `t02_shared_state`        |
| T3   | wall time: a clock set back makes a limit endless       | `t03_clock`               |
| T4   | Retry-After shrunk by jitter, cut short, or fatal       | `t04_retry_after`         |
| T5   | time limits that are overrun by a wait                  | `t05_time_limits`         |
| T6   | overflow in place of the user's error                   | `t06_overflow`            |
| T7   | cancellation swallowed or retried                       | `t07_cancellation`        |
| T8   | a lock around the user's code                           | `t08_lock_over_user_code` |
| T9   | coroutines and generators wrapped without effect        | `t09_silent_no_op`        |
| T10  | everybody let through when a circuit is half-open       | `t10_half_open_stampede`  |
| T11  | a class taken for a predicate for its metaclass         | `t11_metaclass`           |
| T12  | a probe that never reports keeps the circuit shut       | `t12_lost_probes`         |
| T13  | the user's error masked by one of the library           | `t13_masked_errors`       |
| T14  | reference cycles: frames wait for the collector         | `t14_garbage`             |
| T15  | decorrelated jitter fed by the server's waits           | `t15_decorrelated`        |
| T16  | sleep(0) costs more than the attempt                    | `t16_zero_waits`          |
| T17  | retries inside retries multiply                         | `t17_amplification`       |
| T18  | a generator begun again delivers items twice            | `t18_generator_restart`   |

Time stands still in them until it is pushed: sleeping pushes it, and nobody really waits.
"""
