import { setTimeout } from 'node:timers/promises'
import type { PublicEndpoint } from './public-endpoint.ts'
import type { RealNetwork } from './real-network.ts'

export interface WeatherFigures {
  /** By depth: 1, 2, 3. */
  reorgs: [number, number, number]
  drops: number
  /** Times at which fees jumped. */
  jumps: number
  highestBaseFeeGwei: number
}

export interface Weather {
  readonly figures: WeatherFigures
  /** Blocks were undone, transactions forgotten, and fees jumped. */
  hasShownAll(): boolean
  /** From now on nothing is undone or dropped, and fees are low; resolves when that is so. */
  clearUp(): Promise<void>
  /** Fees stay at so many gwei until the next call, or, by null, go their own way; resolves when that is so. */
  hold(gwei: number | null): Promise<void>
  stop(): Promise<void>
}

const GWEI = 1_000_000_000
const LOW = GWEI
const HIGHEST = 50 * GWEI

/**
 * A network's own doings while it mines by itself: blocks undone 1 to 3 deep, transactions that its pool forgets, fees
 * that wander and jump, and a least tip that rises with them.
 */
export function startWeather(options: {
  network: RealNetwork
  endpoint: PublicEndpoint
  blockMs: number
  random: () => number
  /** It knows no base fee. */
  legacy?: boolean
}): Weather {
  const { network, endpoint, blockMs, random, legacy = false } = options
  const figures: WeatherFigures = { reorgs: [0, 0, 0], drops: 0, jumps: 0, highestBaseFeeGwei: 0 }
  let rough = true
  let running = true
  let held: number | null = null
  let fee = LOW
  let seen = 0
  let sinceReorg = 0

  const setFee = async () => {
    const wanted = Math.round(held ?? fee)
    figures.highestBaseFeeGwei = Math.max(figures.highestBaseFeeGwei, Math.round(wanted / GWEI))
    if (legacy) await network.call('anvil_setMinGasPrice', [hex(wanted)])
    else await network.call('anvil_setNextBlockBaseFeePerGas', [hex(wanted)])
    // A tip follows the base fee, and falls again; so does the price of gas where there is no base fee.
    endpoint.floor = BigInt(Math.round(wanted / (legacy ? 1 : 5)))
  }

  const wander = () => {
    if (random() < 0.12) {
      figures.jumps += 1
      fee *= 4 + 6 * random()
    } else {
      fee *= 0.8 + 0.35 * random()
    }
    fee = Math.min(HIGHEST, Math.max(LOW, fee))
  }

  const tick = async () => {
    const height = Number(await network.call('eth_blockNumber'))
    const isNew = height !== seen
    seen = height
    if (isNew && rough) wander()
    if (!rough) fee = LOW
    await setFee()
    if (!rough) return
    // A machine with much to do comes here only once for each block.
    if (!isNew || random() < 0.25) await forget()
    if (!isNew) return
    sinceReorg += 1
    if (random() < 0.25 && sinceReorg > 3 && height > 10) {
      const depth = 1 + Math.floor(random() * 3)
      await network.reorg(depth)
      figures.reorgs[depth - 1] = (figures.reorgs[depth - 1] ?? 0) + 1
      sinceReorg = 0
    }
  }

  const forget = async () => {
    for (const hash of await network.pool()) {
      if (random() < 0.6) continue
      await network.call('anvil_dropTransaction', [hash])
      figures.drops += 1
    }
  }

  const blow = async () => {
    while (running) {
      await tick()
      await setTimeout(blockMs / 4)
    }
  }
  const blowing = blow()
  // Whoever stops it hears of it.
  blowing.catch(() => {})

  return {
    figures,
    hasShownAll: () => [Math.max(...figures.reorgs), figures.drops, figures.jumps].every((count) => count > 0),
    async clearUp() {
      rough = false
      held = null
      await setTimeout(2 * blockMs)
    },
    async hold(gwei) {
      held = gwei === null ? null : gwei * GWEI
      await setTimeout(blockMs)
    },
    async stop() {
      running = false
      await blowing
    },
  }
}

const hex = (value: number) => `0x${value.toString(16)}`
