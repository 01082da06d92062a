import type { Blockchain } from '../../../api/blockchains.ts'
import type { EndpointName } from '../../../api/endpoints.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { GdnError } from '../../../core/errors.ts'
import type { AcceptedOperation } from '../../../operations/types.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import type { OutputFlags, ServerFlags } from '../../flags/common.ts'
import { blockchainName } from '../../flags/parse.ts'
import type { WaitFlags } from '../../flags/wait.ts'
import { safe } from '../../io/io.ts'
import type { DataRecord } from '../../render/cells.ts'
import type { View } from '../../render/view.ts'
import { type OperationFlags, operateOnce } from '../../request/operate.ts'
import { DEFAULT_TIMEOUT_MS, hasFailed, isFinal, poll } from '../../request/waiting.ts'
import { blockchainOf } from './blockchain-of.ts'
import { unknownNfts } from './show.ts'

/** Flags of the commands that change existing NFTs. */
export interface ChangeFlags extends OutputFlags, ServerFlags, WaitFlags, OperationFlags {
  blockchain?: Blockchain
  dryRun?: boolean
  yes?: boolean
}

/** Adds `--blockchain`, for servers whose records don't have it. */
export const addBlockchainFlag = (command: GdnCommand): GdnCommand =>
  valueFlag(command, '-b, --blockchain <name>', 'Blockchain of the NFT', { parse: blockchainName })

export const CHANGE_VIEW: View = {
  fields: [
    ...['nft_gdn_id', 'token_id', 'title', 'status', 'contract_address', 'blockchain', 'receiver_wallet_address'],
    ...['transaction_gdn_id', 'accepted_date', 'transaction_hash', 'gas_used', 'error'],
  ],
  columns: ['token_id', 'title', 'status', 'receiver_wallet_address', 'nft_gdn_id', 'error'],
  id: 'nft_gdn_id',
}

/** An NFT on a chain, as the server knows it. */
export interface FoundNft extends NftRecord {
  contract_address: string
  blockchain: Blockchain
  title: string
}

/**
 * Returns the records of NFTs that are on a chain.
 *
 * @throws GdnError `not_found`, `nft_failed`, `pending`
 */
export async function findNfts(deps: Deps, connection: Connection, ids: readonly string[]): Promise<FoundNft[]> {
  const { nfts } = await connection.client.call('getnfts', { nft_gdn_ids: [...ids] }, { signal: deps.signals.signal })
  const found: FoundNft[] = []
  const missing: string[] = []
  for (const id of ids) {
    const nft = nfts.find(({ nft_gdn_id }) => nft_gdn_id === id)
    if (nft === undefined) missing.push(id)
    else found.push(await onChain(deps, connection, nft))
  }
  if (missing.length > 0) throw unknownNfts(missing)
  return found
}

async function onChain(deps: Deps, connection: Connection, nft: NftRecord): Promise<FoundNft> {
  const { nft_gdn_id: id, status, error, contract_address } = nft
  if (hasFailed(status)) {
    throw new GdnError('nft_failed', `${id} failed and was never minted: ${error ?? 'the server returned no reason'}`)
  }
  if (status !== 'deployed' || !contract_address) {
    throw new GdnError('pending', `${id} is not deployed yet`, {
      hint: `Run \`gdn nft wait ${safe(id)}${serverFlag(connection.server)}\` first.`,
    })
  }
  const { title } = (nft.request_metadata ?? {}) as { title?: unknown }
  const blockchain = await blockchainOf(deps, nft, connection)
  return { ...nft, contract_address, blockchain, title: typeof title === 'string' ? title : '' }
}

/** The same without what only the server's record has. */
export const shortRecord = ({ nft_gdn_id, token_id, title, ...nft }: FoundNft): DataRecord => ({
  ...{ nft_gdn_id, token_id, title },
  contract_address: nft.contract_address,
  blockchain: nft.blockchain,
  receiver_wallet_address: nft.receiver_wallet_address,
})

interface NftChange {
  endpoint: Extract<EndpointName, 'updatednft' | 'freezenft' | 'burnnft'>
  note: string
  blockchain: Blockchain
  contract: string
  /** What identifies the operation. */
  content: object
  /** Prompts, and returns the request. */
  request(): Promise<object>
  /** What the operation does, as the subject of messages: `the update`. */
  what: string
}

/** The outcome of a change, with the API's field names. */
export interface ChangeOutcome {
  seen: DataRecord
  problem: GdnError | null
}

/**
 * Sends a change of NFTs at most once, and waits until its transaction is final.
 *
 * @param print gets what is known of the transaction, also if the change failed or is still pending
 */
export async function changeNfts(
  deps: Deps,
  connection: Connection,
  flags: ChangeFlags,
  change: NftChange,
  print: (seen: DataRecord) => Promise<void>,
): Promise<void> {
  const { endpoint, note, blockchain, contract, content, request, what } = change
  await operateOnce(
    deps,
    connection,
    flags,
    { endpoint, blockchain, contract, content, note, request },
    async ({ accepted: { transaction_gdn_id, accepted_date } }: AcceptedOperation) => {
      const accepted = { status: 'initiated', transaction_gdn_id, accepted_date }
      if (flags.wait === false || transaction_gdn_id === null) {
        await print(accepted)
        return { ended: true, state: null, problem: null }
      }
      const seen = await waitForTransaction(deps, connection, transaction_gdn_id, what, flags.timeout)
      await print({ ...accepted, ...seen })
      if (seen === null) {
        const problem = new GdnError('pending', `${what} is still pending`, {
          hint: 'Run the same command again to wait on.',
          details: { transaction_gdn_id },
        })
        return { ended: false, state: null, problem }
      }
      if (!hasFailed(String(seen.status))) return { ended: true, state: 'deployed', problem: null } as const
      const problem = new GdnError('refused', `${what} failed: ${seen.error ?? 'the server returned no reason'}`, {
        hint: 'Nothing was changed by it. Fix the cause, then run the command again.',
      })
      return { ended: true, state: 'failed', problem } as const
    },
  )
}

/** Returns what is known of a transaction once it is final; null after the timeout. */
async function waitForTransaction(
  deps: Deps,
  { client }: Connection,
  id: string,
  what: string,
  timeout = DEFAULT_TIMEOUT_MS,
): Promise<DataRecord | null> {
  const progress = await deps.io.progress(`Waiting for ${what}`)
  try {
    const found = await poll(deps, timeout, async () => {
      const request = { transaction_gdn_ids: [id] }
      const { transactions } = await client.call('gettransactions', request, { signal: deps.signals.signal })
      const one = transactions.find(({ transaction_gdn_id }) => transaction_gdn_id === id)
      return one !== undefined && isFinal(one.status) ? one : undefined
    })
    if (found === undefined) return null
    const { status, transaction_hash, gas_used, error } = found
    return { status, transaction_hash, gas_used, error }
  } finally {
    progress.stop()
  }
}
