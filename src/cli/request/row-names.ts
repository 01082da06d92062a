import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { GdnError, type Place } from '../../core/errors.ts'
import type { EnsAddress, EnsNames } from '../../manifest/options.ts'
import type { Deps } from '../deps.ts'
import { type EnsFlags, type NameNetwork, toNameNetwork } from '../flags/ens.ts'
import { safe } from '../io/io.ts'
import { hasPlace, noNodeError } from './ens-names.ts'

/** Maximum number of printed names. Only the number of the other names is printed. */
const MAX_PRINTED_NAMES = 20
/** Maximum number of warnings of each kind: names that look alike, and names that have the same address. */
const MAX_WARNINGS = 10

/** Resolves each ENS name in a manifest's rows or in a list once. Prints the names before anything is sent. */
export class RowNames implements EnsNames {
  readonly #deps: Pick<Deps, 'env' | 'io' | 'signals'>
  readonly #settings: Pick<Settings, 'ensRpcUrl'>
  readonly #flags: EnsFlags
  #pins: ReadonlyMap<string, string> = new Map()
  /** The name and address for each text, or the error. */
  readonly #resultsByText = new Map<string, EnsAddress | GdnError>()
  /** The address of each normalized name, or the error. */
  readonly #resultsByName = new Map<string, string | GdnError>()
  #printedCount = 0
  #namesAtClose = 0

  constructor(deps: Pick<Deps, 'env' | 'io' | 'signals'>, settings: Pick<Settings, 'ensRpcUrl'>, flags: EnsFlags) {
    this.#deps = deps
    this.#settings = settings
    this.#flags = flags
  }

  pin(addresses: ReadonlyMap<string, string>): void {
    this.#pins = addresses
    this.#resultsByText.clear()
    for (const [name, address] of addresses) {
      const previous = this.#resultsByName.get(name)
      if (previous === undefined) continue
      if (typeof previous === 'string') this.#warnIfMoved(name, address, previous)
      this.#resultsByName.set(name, address)
    }
  }

  async open(texts: ReadonlySet<string>, blockchain: unknown): Promise<void> {
    const { normalizeName } = await import('../../ens/normalize-name.ts')
    const opened: { text: string; name: string }[] = []
    const networkOfName = new Map<string, NameNetwork>()
    for (const text of texts) {
      if (this.#resultsByText.has(text)) continue
      try {
        const name = normalizeName(text, NO_PLACE)
        const network = toNameNetwork(name, blockchain, NO_PLACE)
        opened.push({ text, name })
        if (!this.#resultsByName.has(name)) networkOfName.set(name, network)
      } catch (error) {
        if (!(error instanceof GdnError)) throw error
        this.#resultsByText.set(text, error)
      }
    }
    await this.#resolve(networkOfName)
    for (const { text, name } of opened) {
      const address = this.#resultsByName.get(name) ?? ''
      this.#resultsByText.set(text, typeof address === 'string' ? { name, address } : address)
    }
    this.#print([...networkOfName.keys()])
  }

  of(text: string): EnsAddress {
    const resolved = this.#resultsByText.get(text)
    if (resolved === undefined) throw new Error('the name was not resolved')
    if (resolved instanceof GdnError) throw resolved
    return resolved
  }

  async close(): Promise<void> {
    if (this.#resultsByName.size === this.#namesAtClose) return
    this.#namesAtClose = this.#resultsByName.size
    const { io } = this.#deps
    const pairs = [...this.#resultsByName].filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    if (this.#printedCount > MAX_PRINTED_NAMES)
      io.note(`and ${count(this.#printedCount - MAX_PRINTED_NAMES, 'other name')}`)
    const { findLookAlikes, findSameAddressNames } = await import('../../ens/look-alike.ts')
    for (const [first, second] of findLookAlikes(pairs, MAX_WARNINGS)) {
      io.warn(`${nameWithAddress(first)} and ${nameWithAddress(second)} look alike, but are different names.`)
    }
    for (const [[name, address], [other]] of findSameAddressNames(pairs, MAX_WARNINGS)) {
      io.warn(`${safe(name)} and ${safe(other)} are names of the same address, ${address}.`)
    }
  }

  async #resolve(networkOfName: ReadonlyMap<string, NameNetwork>): Promise<void> {
    const node = this.#settings.ensRpcUrl
    for (const name of networkOfName.keys()) {
      const pinned = this.#pins.get(name)
      if (pinned !== undefined) this.#resultsByName.set(name, pinned)
      // Record this as an error of the row, so that all other problems are reported too.
      else if (node === null) this.#resultsByName.set(name, noNodeError({ name }))
    }
    if (node === null || networkOfName.size === 0) return
    const { withEns } = await import('../connect/open-ens.ts')
    await withEns(this.#deps, node, this.#flags, async (resolver) => {
      const progress = await this.#deps.io.progress('Resolving ENS names')
      try {
        const entries = [...networkOfName]
        const results = await Promise.allSettled(entries.map(([name, network]) => resolver.resolve(name, network)))
        for (const [index, result] of results.entries()) this.#storeResult(entries[index]?.[0] ?? '', result)
      } finally {
        progress.stop()
      }
    })
  }

  #storeResult(name: string, result: PromiseSettledResult<string>): void {
    const pinned = this.#pins.get(name)
    if (result.status === 'fulfilled') {
      if (pinned === undefined) this.#resultsByName.set(name, result.value)
      else this.#warnIfMoved(name, pinned, result.value)
      return
    }
    const { reason } = result
    // If the run already has an address for the name, no node is needed.
    if (pinned !== undefined && reason instanceof GdnError) return
    if (!(reason instanceof GdnError) || hasPlace(reason)) throw reason
    this.#resultsByName.set(name, reason)
  }

  #warnIfMoved(name: string, pinned: string, now: string): void {
    if (pinned === now) return
    this.#deps.io.warn(`${safe(name)} now has the address ${safe(now)}. The run keeps the address ${safe(pinned)}.`)
  }

  #print(names: readonly string[]): void {
    for (const name of names) {
      const address = this.#resultsByName.get(name)
      if (typeof address !== 'string') continue
      if (this.#printedCount++ < MAX_PRINTED_NAMES) this.#deps.io.note(`${safe(name)} → ${safe(address)}`)
    }
  }
}

const NO_PLACE: Place = {}

const nameWithAddress = ([name, address]: readonly [string, string]): string => `${safe(name)} (${address})`
