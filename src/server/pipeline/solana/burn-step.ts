import { parseKey } from '../../chain/solana/key.ts'
import { decodeMintAccount } from '../../chain/solana/read-mint.ts'
import { holdsToken } from '../../chain/solana/token-account.ts'
import { burnInstructions } from '../../chain/solana/update-instructions.ts'
import { addTransactions } from '../../state/transactions.ts'
import { endTransfer } from '../../state/transfers.ts'
import { setOwner } from '../../store/nfts.ts'
import { assignTransfers, hasUnsignedTransfers, listUnsignedTransfers } from '../../store/transfers.ts'
import { LostRaceError } from '../driver.ts'
import type { Turn } from '../loop.ts'
import {
  CHANGES_PER_BATCH,
  type ChangeOptions,
  type ChangeSigner,
  openChangeSigner,
  readMintAccount,
} from './changes.ts'
import { buildSignedRow, type SignedRow } from './transaction-preparer.ts'

type Burn = Awaited<ReturnType<typeof listUnsignedTransfers>>[number]

/**
 * Creates a turn that signs accepted burns. If a token was already burned, for example by its holder, the burn is
 * marked as deployed without a transaction.
 */
export function createBurnStep(options: ChangeOptions): Turn {
  const { store, blockchain, now, onSigned } = options

  const sign = async ({ signer, network, ...changes }: ChangeSigner, burn: Burn): Promise<SignedRow | null> => {
    const mint = parseKey(burn.token_id ?? '')
    const { supply } = decodeMintAccount((await readMintAccount(network, mint.address)).data)
    if (supply === 0n) {
      await store.transaction(async (db) => {
        await endTransfer(db, burn.id, { status: 'deployed' })
        await setOwner(db, burn.nft_id, burn.receiver, 0)
      })
      return null
    }
    if (!(await holdsToken(network, parseKey(burn.sender), mint))) {
      const error = `the NFT no longer belonged to the sender ${burn.sender}`
      await store.transaction((db) => endTransfer(db, burn.id, { status: 'failed', error }))
      return null
    }
    const signed = await changes.sign('', async () => burnInstructions(signer, mint, burn.sender))
    const content = { kind: 'burn', collection_id: null, mint: mint.address, token_count: 1, directory: null } as const
    return buildSignedRow({ blockchain, signer: signer.address, now: now() }, content, signed)
  }

  return async () => {
    if (!(await hasUnsignedTransfers(store.db, blockchain))) return null
    const burns = await listUnsignedTransfers(store.db, blockchain, CHANGES_PER_BATCH)
    const changes = await openChangeSigner(options)
    const rows = await Promise.all(burns.map((burn) => sign(changes, burn)))
    const signed = burns.flatMap(({ id, request_id }, index) => {
      const row = rows[index]
      return row ? [{ id, request_id, row }] : []
    })
    if (signed.length === 0) return null
    await store.transaction(async (db) => {
      await addTransactions(
        db,
        signed.map(({ row }) => row),
      )
      const assigned = signed.map(({ id, row }) => ({ id, transactionId: row.id }))
      if ((await assignTransfers(db, assigned)) !== signed.length) throw new LostRaceError()
    })
    onSigned(
      signed.map(({ row }) => row),
      [...new Set(signed.map(({ request_id }) => request_id))],
    )
    return 0
  }
}
