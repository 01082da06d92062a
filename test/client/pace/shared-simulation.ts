import type { Ticket } from '../../../src/client/pace/limiter-state.ts'
import { type LimiterEnvironment, type SharedPace, StoredLimiter } from '../../../src/client/pace/shared-limiter.ts'
import { createPacer, type PacerOptions } from '../../../src/client/pacer.ts'

interface Timer {
  at: number
  run: () => void
}

/** Simulated time that jumps to the next timer whenever nothing else is left to do. */
export class Simulation {
  time = 0
  readonly #timers = new Set<Timer>()

  readonly now = () => this.time

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#timers.delete(timer)
        reject(signal?.reason)
      }
      const run = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const timer = { at: this.time + ms, run }
      this.#timers.add(timer)
      signal?.addEventListener('abort', giveUp)
    })

  async run(until = Number.POSITIVE_INFINITY): Promise<void> {
    for (;;) {
      await new Promise(setImmediate)
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at)
      if (next === undefined || next.at > until) return
      this.#timers.delete(next)
      this.time = Math.max(this.time, next.at)
      next.run()
    }
  }
}

/** A simulated machine: the stored text of each limiter, and the processes that have ended. */
export class SimulatedMachine {
  readonly limiters = new Map<string, string>()
  readonly #ended = new Set<number>()
  #pids = 0

  readonly simulation: Simulation

  constructor(simulation: Simulation) {
    this.simulation = simulation
  }

  process(limits: Pick<PacerOptions, 'rate' | 'observed'>): SimulatedProcess {
    return new SimulatedProcess(this, ++this.#pids, limits)
  }

  ended(pid: number): void {
    this.#ended.add(pid)
  }

  isEnded = ({ pid }: Ticket): boolean => this.#ended.has(pid)
}

/** A simulated process. After kill, its waits never end. After stop, they end later. */
export class SimulatedProcess {
  readonly pacer: ReturnType<typeof createPacer>
  readonly trouble: unknown[] = []
  killed = false
  readonly #machine: SimulatedMachine
  readonly #pid: number
  #stoppedUntil = 0

  constructor(machine: SimulatedMachine, pid: number, limits: Pick<PacerOptions, 'rate' | 'observed'>) {
    this.#machine = machine
    this.#pid = pid
    const shared: SharedPace = {
      limiter: async (endpoint, rate, observed) => new StoredLimiter(this.#environment(endpoint), rate, observed),
      trouble: (error) => this.trouble.push(error),
    }
    this.pacer = createPacer({ ...limits, now: machine.simulation.now, sleep: this.sleep, shared })
  }

  kill(): void {
    this.killed = true
    this.#machine.ended(this.#pid)
  }

  stop(ms: number): void {
    this.#stoppedUntil = Math.max(this.#stoppedUntil, this.#machine.simulation.time + ms)
  }

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    const { simulation } = this.#machine
    const slept = simulation.sleep(ms, signal)
    await slept.catch(() => {})
    while (simulation.time < this.#stoppedUntil) await simulation.sleep(this.#stoppedUntil - simulation.time)
    if (this.killed) await new Promise(() => {})
    await slept
  }

  #environment(endpoint: string): LimiterEnvironment {
    const { limiters, simulation, isEnded } = this.#machine
    return {
      async update(change) {
        const { keep, result } = change(limiters.get(endpoint) ?? null)
        if (keep !== null) limiters.set(endpoint, keep)
        return result
      },
      now: simulation.now,
      sleep: this.sleep,
      owner: { pid: this.#pid, startedAt: null, space: null },
      boot: 'boot',
      findEndedTickets: async (tickets) => new Set(tickets.filter(isEnded).map(({ id }) => id)),
    }
  }
}
