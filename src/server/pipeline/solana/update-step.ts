import type { NftMetadata } from '../../../api/metadata.ts'
import { parseKey } from '../../chain/solana/key.ts'
import { decodeMintAccount } from '../../chain/solana/read-mint.ts'
import { freezeInstructions, updateInstructions } from '../../chain/solana/update-instructions.ts'
import { addTransactions } from '../../state/transactions.ts'
import { assignUpdates, deployUpdates, failUpdates } from '../../state/updates.ts'
import type { BuiltDirectory } from '../../storage/directory.ts'
import { putBlocks } from '../../store/block-table.ts'
import {
  collectionsToUpdate,
  listSignableUpdates,
  setUnknownRevision,
  type UpdateWithNft,
} from '../../store/updates.ts'
import { LostRaceError } from '../driver.ts'
import type { Turn } from '../loop.ts'
import { buildUpdateDirectory } from '../metadata-file.ts'
import { signForEach } from '../sign-for-each.ts'
import { type FileSources, storeFilesAgain } from '../store-files-again.ts'
import { findUpdateError } from '../update-reason.ts'
import {
  CHANGES_PER_BATCH,
  type ChangeOptions,
  type ChangeSigner,
  openChangeSigner,
  readMintAccount,
} from './changes.ts'
import { buildSignedRow, type SignedRow } from './transaction-preparer.ts'

export type SolanaUpdateStepOptions = ChangeOptions & FileSources

/** A prepared update. Either its transaction is signed, or its effect was found on chain. */
interface PreparedUpdate {
  update: UpdateWithNft
  row: SignedRow
  isFound: boolean
  directory: BuiltDirectory | null
}

/** An update that fails. `unknown` is the revision on chain if it is from an update that the database doesn't have. */
interface RejectedUpdate {
  update: UpdateWithNft
  error: string
  unknown?: { revision: number; directory: string }
}

const DIRECTORY_URI_PATTERN = /^ipfs:\/\/([a-z0-9]+)\//

/**
 * Creates a turn that signs accepted updates and freezes, with one transaction for each NFT. A token stores the number
 * of its last update. After a restored backup, this number shows whether a pending update was already applied, so that
 * no update is applied twice.
 */
export function createSolanaUpdateStep(options: SolanaUpdateStepOptions): Turn {
  const { store, blockchain } = options

  /**
   * Signs updates of a collection.
   *
   * @returns whether there may be more to sign immediately
   */
  const signFor = async (collectionId: string): Promise<boolean> => {
    const updates = await listSignableUpdates(store.db, { blockchain, collectionId }, CHANGES_PER_BATCH)
    if (updates.length === 0) return false
    const changes = await openChangeSigner(options)
    const prepared = await Promise.all(updates.map((update) => prepare(options, changes, update)))
    for (const change of prepared) if ('error' in change) await refuse(options, collectionId, change)
    const ready = prepared.flatMap((change) => ('row' in change ? [change] : []))
    if (ready.length > 0) await commit(options, ready)
    return ready.every(({ isFound }) => isFound)
  }

  return async () => {
    const more = await signForEach(await collectionsToUpdate(store.db, blockchain), signFor)
    return more ? 0 : null
  }
}

/** Signs an update, unless it is already on chain or would be rejected. Doesn't store anything. */
async function prepare(
  { blockchain, now }: SolanaUpdateStepOptions,
  { signer, network, sign }: ChangeSigner,
  update: UpdateWithNft,
): Promise<PreparedUpdate | RejectedUpdate> {
  const error = findUpdateError(update)
  if (error !== null) return { update, error }
  const { kind, token_id: token } = update
  const storedRevision = update.revision ?? 0
  const mint = parseKey(token ?? '')
  const account = await readMintAccount(network, mint.address)
  const { supply, uri, updateAuthority, revision: chainRevision } = decodeMintAccount(account.data)
  const isFinal = updateAuthority !== signer.address
  const directory = kind === 'update' ? await buildUpdateDirectory([update]) : null
  const revision = Math.max(chainRevision ?? 0, storedRevision)
  const isApplied = chainRevision === storedRevision + 1 && uri === `ipfs://${directory?.cid}/${token}.json`
  if (revision > storedRevision && !isApplied) {
    const [, unknown = ''] = DIRECTORY_URI_PATTERN.exec(uri ?? '') ?? []
    const error = `the NFT has revision ${revision} on chain, and this backend has no record of the revision: check the metadata before you update the NFT again`
    return { update, error, unknown: { revision, directory: unknown } }
  }
  const isFound = kind === 'update' ? isApplied : isFinal
  if (!isFound && supply === 0n) return { update, error: 'the NFT was burned' }
  if (!isFound && isFinal) return { update, error: 'the metadata of the NFT is frozen' }
  const place = { blockchain, signer: signer.address, now: now() }
  const content = {
    kind,
    collection_id: null,
    mint: mint.address,
    token_count: 1,
    directory: directory?.cid ?? null,
    update_sequence: directory === null ? null : storedRevision + 1,
  }
  if (isFound) {
    // Use a placeholder signature, because the transaction that made the change can't be distinguished from other
    // transactions that refer to the token.
    const lost = { raw: '', signature: `unknown:${token}:${update.id}`, lastValidBlockHeight: 0 }
    return { update, row: buildSignedRow(place, content, lost), isFound, directory }
  }
  const { title } = JSON.parse(update.metadata) as NftMetadata
  const signed = await sign(directory === null ? '' : title, async (name) =>
    directory === null
      ? freezeInstructions(signer, mint)
      : await updateInstructions(
          signer,
          mint,
          account,
          { name, uri: `ipfs://${directory.cid}/${token}.json`, revision: storedRevision + 1 },
          (bytes) => network.minimumBalance(bytes),
        ),
  )
  return { update, row: buildSignedRow(place, content, signed), isFound, directory }
}

/** Marks an update as failed because it can't be applied. If the chain has an unknown revision, stores it. */
async function refuse(
  { store, blockchain, log }: SolanaUpdateStepOptions,
  collectionId: string,
  { update, error, unknown }: RejectedUpdate,
): Promise<void> {
  await store.transaction(async (db) => {
    if (unknown !== undefined) {
      const { revision: sequence, directory } = unknown
      await setUnknownRevision(db, { collectionId, sequence, directory, tokenIds: [update.token_id ?? ''] })
    }
    await failUpdates(db, [update.seq], error)
  })
  if (unknown === undefined) return
  const logFields = { blockchain, nft: update.nft_id, revision: unknown.revision }
  log.error(logFields, 'an NFT update on chain is unknown to this backend: its revision was recorded for the NFT')
}

/** Stores the transactions of prepared updates before any of them is sent. */
async function commit(options: SolanaUpdateStepOptions, ready: readonly PreparedUpdate[]): Promise<void> {
  const { store, blockchain, log, onSigned } = options
  const adopted = ready.filter(({ isFound }) => isFound)
  for (const { update, directory } of adopted) {
    if (directory !== null) await storeFilesAgain(options, { ...update, id: update.nft_id ?? '' })
  }
  await store.transaction(async (db) => {
    for (const { update, row, isFound, directory } of ready) {
      await addTransactions(db, [row], isFound ? 'final' : 'signed')
      if ((await assignUpdates(db, [update.seq], row.id)) !== 1) throw new LostRaceError()
      await putBlocks(db, directory?.blocks ?? [], store.publishTo)
      if (isFound) await deployUpdates(db, row)
    }
  })
  if (adopted.length > 0) {
    log.warn(
      { blockchain, updates: adopted.length },
      'updates on chain that were missing from the database were adopted',
    )
  }
  const signed = ready.filter(({ isFound }) => !isFound)
  if (signed.length === 0) return
  onSigned(
    signed.map(({ row }) => row),
    [...new Set(signed.map(({ update }) => update.request_id))],
  )
}
