import { setTimeout } from 'node:timers/promises'
import type { PublicEndpoint } from './public-endpoint.ts'
import type { PublicNetwork } from './public-network.ts'

export interface NetworkConditionFigures {
  /** Number of reorgs by depth: 1, 2, 3. */
  reorgs: [number, number, number]
  drops: number
  /** Number of fee jumps. */
  jumps: number
  highestBaseFeeGwei: number
}

export interface NetworkConditions {
  readonly figures: NetworkConditionFigures
  /** Whether reorgs, dropped transactions and fee jumps have all occurred. */
  hasShownAll(): boolean
  /** Stops reorgs and drops, and lowers fees. Resolves when that is in effect. */
  settle(): Promise<void>
  /** Fixes fees at this many gwei until the next call; null lets them drift. Resolves when that is in effect. */
  hold(gwei: number | null): Promise<void>
  stop(): Promise<void>
}

const GWEI = 1_000_000_000
const LOW = GWEI
const HIGHEST = 50 * GWEI

/**
 * Disturbs a network that mines at intervals: reorgs that are 1 to 3 blocks deep, dropped transactions, fees that drift
 * and jump, and a minimum tip that follows them. Each occurs at the first opportunity, and then at random.
 */
export function startNetworkConditions(options: {
  network: PublicNetwork
  endpoint: PublicEndpoint
  blockMs: number
  random: () => number
  /** Whether it has no base fee. */
  legacy?: boolean
}): NetworkConditions {
  const { network, endpoint, blockMs, random, legacy = false } = options
  const figures: NetworkConditionFigures = { reorgs: [0, 0, 0], drops: 0, jumps: 0, highestBaseFeeGwei: 0 }
  let disturbed = true
  let running = true
  let heldFee: number | null = null
  let fee = LOW
  let seen = 0
  let sinceReorg = 0

  const setFee = async () => {
    const nextFee = Math.round(heldFee ?? fee)
    figures.highestBaseFeeGwei = Math.max(figures.highestBaseFeeGwei, Math.round(nextFee / GWEI))
    if (legacy) await network.call('anvil_setMinGasPrice', [hex(nextFee)])
    else await network.call('anvil_setNextBlockBaseFeePerGas', [hex(nextFee)])
    // The tip follows the base fee up and down. Without a base fee, the gas price does.
    endpoint.floor = BigInt(Math.round(nextFee / (legacy ? 1 : 5)))
  }

  const changeFee = () => {
    if (figures.jumps === 0 || random() < 0.12) {
      figures.jumps += 1
      fee *= 4 + 6 * random()
    } else {
      // The fee must return to its lowest. Otherwise, transactions whose approved price was low stay pending forever.
      fee *= 0.45 + 0.35 * random()
    }
    fee = Math.min(HIGHEST, Math.max(LOW, fee))
  }

  const tick = async () => {
    const height = Number(await network.call('eth_blockNumber'))
    const isNew = height !== seen
    seen = height
    if (isNew && disturbed) changeFee()
    if (!disturbed) fee = LOW
    await setFee()
    if (!disturbed) return
    // A busy machine gets here only once per block.
    if (!isNew || figures.drops === 0 || random() < 0.25) await dropTransactions()
    if (!isNew) return
    sinceReorg += 1
    const isDue = Math.max(...figures.reorgs) === 0 || random() < 0.25
    if (isDue && sinceReorg > 3 && height > 10) {
      const depth = 1 + Math.floor(random() * 3)
      await network.reorg(depth)
      figures.reorgs[depth - 1] = (figures.reorgs[depth - 1] ?? 0) + 1
      sinceReorg = 0
    }
  }

  const dropTransactions = async () => {
    for (const hash of await network.pool()) {
      if (figures.drops > 0 && random() < 0.6) continue
      await network.call('anvil_dropTransaction', [hash])
      figures.drops += 1
    }
  }

  const run = async () => {
    while (running) {
      await tick()
      await setTimeout(blockMs / 4)
    }
  }
  const ended = run()
  // The caller of `stop` gets the error.
  ended.catch(() => {})

  return {
    figures,
    hasShownAll: () => [Math.max(...figures.reorgs), figures.drops, figures.jumps].every((count) => count > 0),
    async settle() {
      disturbed = false
      heldFee = null
      await setTimeout(2 * blockMs)
    },
    async hold(gwei) {
      heldFee = gwei === null ? null : gwei * GWEI
      await setTimeout(blockMs)
    },
    async stop() {
      running = false
      await ended
    },
  }
}

const hex = (value: number) => `0x${value.toString(16)}`
