import { type Hindrance, watchNetwork } from './watch-network.ts'

/** Networks and who signs there are looked at so often, also while nothing is signed. */
const LOOK_EVERY_MS = 15_000
/** The same where something is in the way, so that funds which return are seen soon. */
const LOOK_AGAIN_MS = 3_000

export interface Watched<Name> {
  blockchain: Name
  /** What is in the way there; rejects where that can't be found out. */
  ask(): Promise<string | null>
  /** What was in the way when it was last found out. */
  problem(): string | null
}

export interface NetworksWatch<Name> {
  /** Those that can't be worked on, and why, as they were seen last. */
  unreachable(): Promise<({ blockchain: Name } & Hindrance)[]>
  /** Whether whoever asks this one now would wait for long. */
  hangs(blockchain: Name): boolean
  stop(): void
}

/** Looks at networks from now on, until it is stopped. */
export function watchNetworks<Name>(networks: readonly Watched<Name>[]): NetworksWatch<Name> {
  const watches = networks.map(({ blockchain, ask, problem }) => ({ blockchain, problem, watch: watchNetwork(ask) }))
  let turns = 0
  const look = () => {
    const all = turns++ % (LOOK_EVERY_MS / LOOK_AGAIN_MS) === 0
    for (const { problem, watch } of watches) if (all || problem() !== null) watch.look()
  }
  const looking = setInterval(look, LOOK_AGAIN_MS).unref()
  look()
  return {
    async unreachable() {
      const seen = await Promise.all(
        watches.map(async ({ blockchain, watch }) => ({ blockchain, found: await watch.seen() })),
      )
      return seen.flatMap(({ blockchain, found }) => (found === null ? [] : [{ blockchain, ...found }]))
    },
    hangs: (blockchain) => watches.find((one) => one.blockchain === blockchain)?.watch.hangs() === true,
    stop: () => clearInterval(looking),
  }
}
