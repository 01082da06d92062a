import { createHash } from 'node:crypto'
import { type Address, address, getAddressDecoder, getTransactionDecoder, lamports } from '@solana/kit'
import { decodeMint, decodeToken, findAssociatedTokenPda, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022'
import { FailedTransactionMetadata, LiteSVM } from 'litesvm'
import type { Blockchain } from '../../src/api/blockchains.ts'
import type { BlockJournal, JournalledBlock } from '../../src/server/store/block-journal.ts'
import { withStore } from './backend.ts'

/** Addresses whose keys nobody has. */
export function solanaWallet(name: string | number): Address {
  return getAddressDecoder().decode(createHash('sha256').update(`wallet ${name}`).digest())
}

/** Fields of createcollection that only Solana requires. */
export const SOLANA_COLLECTION = {
  blockchain: 'solana',
  wallet_address: solanaWallet('collection'),
  description: 'For tests',
  image: 'ipfs://bafkreidckq4slwf6wpcevf3oyvzy73hweo5j56gtsu6rtb25a5dktclloi',
}

/** A journal in memory that a test can make fail. */
export function memorySlotJournal(slots: JournalledBlock[] = []) {
  const journal = {
    genesisTimestamp: 1_750_000_000,
    kept: slots,
    /** Throw in them to fail a write before or after it is durable. */
    beforeAppend: () => {},
    afterAppend: () => {},
    async append(slot: JournalledBlock) {
      journal.beforeAppend()
      if (slot.number <= (journal.kept.at(-1)?.number ?? 0)) throw new Error(`slot ${slot.number} is taken`)
      journal.kept.push(slot)
      journal.afterAppend()
    },
    async find(number: number) {
      const slot = journal.kept.find((one) => one.number === number)
      return slot === undefined ? null : { ...slot, hash: null }
    },
    async *blocks(after = -1) {
      for (const slot of [...journal.kept]) if (slot.number > after) yield { ...slot, hash: null }
    },
  }
  return journal satisfies Omit<BlockJournal, 'recordHash'>
}

const SYSTEM_PROGRAM = address('11111111111111111111111111111111')

/**
 * Computes every account of a chain without our code: executes the transactions in the order of the journal on a
 * virtual machine where the first fee payer is rich.
 */
export function executeAll(
  raws: readonly string[],
  { failures = 'thrown' }: { failures?: 'thrown' | 'allowed' } = {},
): LiteSVM {
  const machine = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n)
  const transactions = raws.map((raw) => getTransactionDecoder().decode(Buffer.from(raw, 'base64')))
  const [payer] = Object.keys(transactions[0]?.signatures ?? {})
  if (payer !== undefined) {
    machine.setAccount({
      address: address(payer),
      data: new Uint8Array(),
      executable: false,
      lamports: lamports(2n ** 60n),
      programAddress: SYSTEM_PROGRAM,
      space: 0n,
    })
  }
  for (const transaction of transactions) {
    const result = machine.sendTransaction(transaction)
    if (failures === 'thrown' && result instanceof FailedTransactionMetadata) throw new Error(result.toString())
  }
  return machine
}

/** The chain of a data dir, whether or not a backend runs on it. */
export async function readChain(dataDir: string, blockchain: Blockchain = 'solana'): Promise<LiteSVM> {
  const blocks = await withStore(dataDir, ({ db }) =>
    db.selectFrom('chain_blocks').selectAll().where('blockchain', '=', blockchain).orderBy('number').execute(),
  )
  return executeAll(blocks.flatMap(({ transactions }) => transactions.split('\n')))
}

/** A mint as any Token-2022 client sees it. */
export function readMint(machine: LiteSVM, mint: string) {
  const found = machine.getAccount(address(mint))
  if (!found.exists) return null
  if (found.programAddress !== TOKEN_2022_PROGRAM_ADDRESS) throw new Error(`${mint} belongs to another program`)
  const { data } = decodeMint(found)
  const extensions = data.extensions.__option === 'Some' ? data.extensions.value : []
  const find = <Kind extends (typeof extensions)[number]['__kind']>(kind: Kind) =>
    extensions.find((one): one is Extract<(typeof extensions)[number], { __kind: Kind }> => one.__kind === kind)
  return {
    ...data,
    metadata: find('TokenMetadata'),
    metadataPointer: find('MetadataPointer'),
    group: find('TokenGroup'),
    groupPointer: find('GroupPointer'),
    member: find('TokenGroupMember'),
    memberPointer: find('GroupMemberPointer'),
    nonTransferable: find('NonTransferable'),
    permanentDelegate: find('PermanentDelegate'),
  }
}

/** The number of tokens of a mint in a wallet's associated account. */
export async function balanceOf(machine: LiteSVM, mint: string, owner: string): Promise<bigint> {
  const seeds = { mint: address(mint), owner: address(owner), tokenProgram: TOKEN_2022_PROGRAM_ADDRESS }
  const [token] = await findAssociatedTokenPda(seeds)
  const found = machine.getAccount(token)
  if (!found.exists) return 0n
  const { data } = decodeToken(found)
  if (data.owner !== owner || data.mint !== mint) throw new Error(`${token} is another's account`)
  return data.amount
}
