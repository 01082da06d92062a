import { TOKEN_2022 } from '../../chain/solana/key.ts'
import type { SignatureStatus, SolanaNetwork } from '../../chain/solana/network.ts'
import { decodeMintAccount, type MintState } from '../../chain/solana/read-mint.ts'
import { isTransfer, isUpdate, type TransactionRow } from '../../store/transactions.ts'
import type { Observation, TransactionOutcome } from '../driver.ts'
import { parseFileUri } from '../restore-directory.ts'

const POLL_MS = 500

/** Sends transactions and looks up their final outcomes. */
export async function observeSolana(
  network: SolanaNetwork,
  claimed: readonly TransactionRow[],
): Promise<Observation[]> {
  const responses = await network.send(claimed.map(({ raw }) => raw))
  // Read the height before the statuses: see SolanaNetwork.blockHeight.
  const height = await network.blockHeight()
  const statuses = await network.statuses(claimed.map(({ hash }) => hash))
  return Promise.all(
    claimed.map(async (transaction, index): Promise<Observation> => {
      const outcome = await findOutcome(network, height, transaction, statuses[index] ?? null)
      if (outcome !== null) return outcome
      const pending = { state: 'signed', waitMs: network.pollMs ?? POLL_MS } as const
      const response = responses[index]
      return response?.outcome === 'rejected' ? { ...pending, refusal: response.reason } : pending
    }),
  )
}

/**
 * Returns the outcome of a transaction. Returns null while it may still be executed. Only transactions without an
 * outcome are sent again.
 */
async function findOutcome(
  network: SolanaNetwork,
  height: number,
  transaction: TransactionRow,
  status: SignatureStatus | null,
): Promise<TransactionOutcome | null> {
  const { kind, mint, directory, last_valid_height } = transaction
  const block_number = status?.slot ?? null
  if (status?.error === null) return { state: 'final', seen: { raw: '', block_number } }
  if (status === null && height <= (last_valid_height ?? 0)) return null
  const lostOrReverted: TransactionOutcome =
    status === null || status.unpaid
      ? { state: 'lost', seen: { raw: '' } }
      : { state: 'reverted', seen: { raw: '', block_number, error: status.error } }
  // Only this service can mint at that address. If the mint exists, an earlier transaction created it, or this
  // transaction did so long ago that nodes dropped its signature. An earlier transaction may refer to another file,
  // because a restored database doesn't record which NFTs shared a directory.
  const account = mint === null ? null : await network.account(mint)
  if (account?.owner === TOKEN_2022) {
    const final: TransactionOutcome = { state: 'final', seen: { raw: '', block_number } }
    if (isTransfer(transaction) || isUpdate(transaction)) {
      if (isChangeApplied(transaction, decodeMintAccount(account.data))) return final
      return lostOrReverted
    }
    const file = kind === 'mint' ? parseFileUri(decodeMintAccount(account.data).uri) : null
    return file === null || file.directory === directory ? final : { ...final, file }
  }
  return lostOrReverted
}

/** Returns whether the token already has the change that a transaction makes. */
function isChangeApplied(
  { kind, mint, directory, update_sequence }: TransactionRow,
  { supply, uri, revision, updateAuthority }: MintState,
): boolean {
  if (kind === 'burn') return supply === 0n
  if (kind === 'freeze') return updateAuthority === null
  return revision === update_sequence && uri === `ipfs://${directory}/${mint}.json`
}
