import { addressProblem, isLowerCaseAddress } from '../api/address.ts'
import { blockchainHint } from '../api/blockchain-hint.ts'
import { type Blockchain, isBlockchain, isEvm } from '../api/blockchains.ts'
import { isSameAddress } from '../api/same-address.ts'
import { quoted } from '../core/quoted.ts'
import type { Column } from './columns.ts'
import type { RowReport } from './manifest-error.ts'

/** The collection that the flags or the rows specify. */
export interface ManifestTarget {
  blockchain: Blockchain | null
  contractAddress: string | null
}

export interface Cell {
  value: string
  column: Column
}

const CHECKED_SLOTS = 8192
const ONE_TARGET_HINT = 'Split the manifest: each run has one collection.'

/** Determines the common target of all rows and checks their addresses for its blockchain. */
export class TargetCheck {
  #target: ManifestTarget
  #isMissingReported = false
  /** Cache of valid addresses. Even a million rows usually have only a few distinct addresses. */
  readonly #good = new Array<string>(CHECKED_SLOTS).fill('')
  /** Hashes of addresses that have occurred once. Only repeated addresses are cached. */
  readonly #once = new Uint32Array(CHECKED_SLOTS)

  /** @param mayLackBlockchain whether the blockchain is optional */
  constructor(target: ManifestTarget, mayLackBlockchain = false) {
    this.#target = target
    this.#isMissingReported = mayLackBlockchain
  }

  get target(): ManifestTarget {
    return this.#target
  }

  /**
   * Checks the columns `blockchain` and `contract_address` of a row. The first row determines the values that no flag
   * sets.
   */
  check(chain: Cell | undefined, contract: Cell | undefined, report: RowReport): void {
    if (chain !== undefined && chain.value !== this.#target.blockchain) this.#checkChain(chain, report)
    const { blockchain, contractAddress } = this.#target
    if (blockchain === null) {
      // Report the problem once, because it isn't a problem of a single row.
      if (chain === undefined && !this.#isMissingReported) {
        this.#isMissingReported = true
        report.add('blockchain', 'blockchain is required', 'Add the column, or use --blockchain <name>.')
      }
      return
    }
    if (contract === undefined || contract.value === contractAddress) return
    const problem = addressProblem(contract.value, blockchain)
    if (problem !== null) report.add(contract.column, `contract_address ${problem}`)
    else if (contractAddress === null) this.#target = { blockchain, contractAddress: contract.value }
    else if (!isSameAddress(contract.value, contractAddress)) {
      const message = `contract_address is ${contract.value}, but the run is for ${contractAddress}`
      report.add(contract.column, message, ONE_TARGET_HINT)
    }
  }

  #checkChain({ value, column }: Cell, report: RowReport): void {
    const { blockchain } = this.#target
    if (!isBlockchain(value)) report.add(column, `unknown blockchain ${quoted(value)}`, blockchainHint(value))
    else if (blockchain === null) this.#target = { ...this.#target, blockchain: value }
    else report.add(column, `blockchain is ${value}, but the run is for ${blockchain}`, ONE_TARGET_HINT)
  }

  checkAddress(kind: 'receiver' | 'sender', address: string, column: Column | null, report: RowReport): void {
    const { blockchain } = this.#target
    if (blockchain === null) return
    if (kind === 'sender' && !isEvm(blockchain)) {
      report.add(column ?? kind, `sender can't be used: transfers are unsupported on ${blockchain}`)
    }
    // Don't cache valid lower-case addresses, because a cache lookup would take longer than the check.
    if (isEvm(blockchain) && isLowerCaseAddress(address)) return
    const hash = hashOf(address)
    const place = hash & (CHECKED_SLOTS - 1)
    if (this.#good[place] === address) return
    const problem = address.trim() === address ? addressProblem(address, blockchain) : 'begins or ends with whitespace'
    if (problem !== null) report.add(column ?? kind, `${kind} ${problem}`)
    // Store a copy, because a substring would keep the whole chunk of the manifest in memory.
    else if (this.#once[place] === hash) this.#good[place] = ` ${address}`.slice(1)
    else this.#once[place] = hash
  }
}

/** Hashes some characters of an address. These are enough, because addresses are random or differ at the end. */
function hashOf(address: string): number {
  let mixed = address.length
  for (let at = 3; at < 42; at += 6) mixed = Math.imul(mixed ^ address.charCodeAt(at), 0x01000193)
  mixed = Math.imul(mixed ^ address.charCodeAt(address.length - 1), 0x01000193)
  return (mixed ^ (mixed >>> 15)) >>> 0
}
