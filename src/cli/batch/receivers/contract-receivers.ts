import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import type { Server } from '../../../config/server.ts'
import { chunksOf } from '../../../core/chunks-of.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { listSome } from '../../../core/list-some.ts'
import { HashTable } from '../../../manifest/hash-table.ts'
import type { ReceiverCheck } from '../../../manifest/list-rows.ts'
import { receiverKey } from '../../../manifest/receiver-list.ts'
import { decodeAddress } from '../../../verify/abi.ts'
import type { CallResult, ChainReader } from '../../../verify/chain-reader.ts'
import { classifyCode, classifyResults, KIND_CALLS, knownAddressKind } from '../../../verify/known-contracts.ts'
import { openVerifier, type ReaderFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'

export interface ReceiverCheckOptions {
  flags: ReaderFlags & { skipContracts?: boolean; lookup?: boolean | undefined }
  blockchain: Blockchain
  server: Pick<Server, 'baseUrl' | 'isLoopback'>
}

const MAX_SHOWN_CONTRACTS = 10
/** Maximum number of contracts whose kinds gdn determines. Determining a kind takes several calls. */
const MAX_IDENTIFIED_CONTRACTS = 200
const UNKNOWN_KIND = 'contract'

/** Finds the receivers in a list that are contracts, and skips them if `--skip-contracts` is set. */
export class ContractReceivers implements ReceiverCheck {
  readonly #deps: Deps
  readonly #checking: ReceiverCheckOptions
  #chain: Promise<ChainReader | null> | null = null
  #close: () => Promise<void> = async () => {}
  /** The reason why not all receivers were checked; null if they were. */
  #unreadReason: string | null = null
  /** The first contracts by address, with their kinds. */
  readonly #kindsByAddress = new Map<string, string | null>()
  /** Hashes of the addresses of all receivers that are contracts. A receiver may be on several lines. */
  readonly #contractHashes = new HashTable({ foldHex: true })

  constructor(deps: Deps, checking: ReceiverCheckOptions) {
    this.#deps = deps
    this.#checking = checking
  }

  async findExcluded(receivers: readonly string[]): Promise<ReadonlySet<string>> {
    const contractKeys = new Set<string>()
    const { blockchain, flags } = this.#checking
    if (isEvm(blockchain)) {
      const unknown: string[] = []
      for (const receiver of receivers) {
        const kind = knownAddressKind(receiver)
        if (kind === null) unknown.push(receiver)
        else this.#add(contractKeys, receiver, kind)
      }
      const codes = await this.#readCodes(unknown)
      for (const [index, receiver] of unknown.entries()) {
        const code = codes[index] ?? '0x'
        if (code !== '0x') this.#add(contractKeys, receiver, classifyCode(code))
      }
    } else if (flags.skipContracts === true) {
      throw flagError('--skip-contracts', `receivers on ${blockchain} can't be checked`, 'Omit the flag.')
    }
    return flags.skipContracts === true ? contractKeys : new Set()
  }

  async notes(): Promise<readonly string[]> {
    const notes: string[] = []
    if (this.#unreadReason !== null)
      notes.push(`gdn didn't check whether receivers are contracts: ${this.#unreadReason}`)
    const all = this.#contractHashes.size
    if (all === 0) return notes
    await this.#findKinds()
    const shownReceivers = [...this.#kindsByAddress]
      .slice(0, MAX_SHOWN_CONTRACTS)
      .map(([address, kind]) => `${address} (${kind ?? UNKNOWN_KIND})`)
    const kindText = all === 1 ? 'is a contract or burn address' : 'are contracts or burn addresses'
    const isSkipped = this.#checking.flags.skipContracts === true
    const then = isSkipped ? ' (skipped)' : ''
    notes.push(`${count(all, 'receiver')} ${kindText}${then}: ${listSome(shownReceivers, all)}`)
    if (!isSkipped) notes.push('To skip these receivers, add --skip-contracts')
    return notes
  }

  async close(): Promise<void> {
    await this.#close()
    this.#close = async () => {}
    this.#chain = null
  }

  #add(contractKeys: Set<string>, receiver: string, kind: string | null): void {
    const key = receiverKey(receiver)
    contractKeys.add(key)
    const isNew = this.#contractHashes.getOrAdd(key, 1) === undefined
    if (isNew && this.#kindsByAddress.size < MAX_IDENTIFIED_CONTRACTS) this.#kindsByAddress.set(receiver, kind)
  }

  /** Returns the contract code at the addresses, or an empty array if the chain can't be read. */
  async #readCodes(addresses: readonly string[]): Promise<string[]> {
    if (addresses.length === 0 || this.#unreadReason !== null) return []
    const { signal } = this.#deps.signals
    try {
      this.#chain ??= this.#open()
      const chain = await this.#chain
      if (chain === null) return []
      const results = await chain.codeAt(addresses)
      const failed = results.find((result) => result.kind !== 'value')
      if (failed === undefined) return results.map(toReturnData)
      this.#handleUnread('message' in failed ? failed.message : '')
    } catch (error) {
      if (!(error instanceof GdnError) || signal.aborted || error.code === 'usage') throw error
      this.#handleUnread(error.message)
    }
    return []
  }

  async #open(): Promise<ChainReader | null> {
    const { flags, blockchain, server } = this.#checking
    const isOffline = flags.lookup === false && flags.rpcUrl === undefined
    if (isOffline) {
      this.#handleUnread('--no-lookup is set')
      return null
    }
    const { verifier, close } = await openVerifier(this.#deps, flags, blockchain, server)
    this.#close = close
    if (!('reason' in verifier)) return verifier.chain
    this.#handleUnread(verifier.reason)
    return null
  }

  /**
   * Records the reason why receivers couldn't be checked.
   *
   * @throws GdnError `usage` if contracts must be skipped
   */
  #handleUnread(reason: string): void {
    this.#unreadReason = reason
    if (this.#checking.flags.skipContracts !== true) return
    throw flagError(
      '--skip-contracts',
      `receivers can't be checked: ${reason}`,
      'Nothing was sent. Add --rpc-url <url> with a node of the network, or omit --skip-contracts.',
    )
  }

  /** Determines the kinds that the code alone doesn't reveal. If a call fails, the contract has no kind. */
  async #findKinds(): Promise<void> {
    const chain = await this.#chain
    const open = [...this.#kindsByAddress].flatMap(([address, kind]) => (kind === null ? address : []))
    if (chain === null || open.length === 0) return
    const calls = open.flatMap((to) => KIND_CALLS.map((data) => ({ to, data })))
    const results = chunksOf(await chain.call(calls), KIND_CALLS.length)
    for (const [index, each] of [...results].entries()) {
      this.#kindsByAddress.set(
        open[index] ?? '',
        classifyResults(each.map((result) => decodeAddress(toReturnData(result)))),
      )
    }
  }
}

const toReturnData = (result: CallResult): string => (result.kind === 'value' ? result.data : '0x')
