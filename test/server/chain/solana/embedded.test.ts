/** @module-tag slow */
import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  address,
  appendTransactionMessageInstruction,
  type Blockhash,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import { getMintDecoder } from '@solana-program/token-2022'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import { createBlockhashes } from '../../../../src/server/chain/solana/embedded/blockhashes.ts'
import {
  type EmbeddedSolana,
  type EmbeddedSolanaEvent,
  type EmbeddedSolanaOptions,
  startEmbeddedSolana,
} from '../../../../src/server/chain/solana/embedded/embedded-solana.ts'
import { decodeTransaction } from '../../../../src/server/chain/solana/embedded/wire.ts'
import { TOKEN_2022 } from '../../../../src/server/chain/solana/key.ts'
import { mintAddress } from '../../../../src/server/chain/solana/mint-address.ts'
import { decodeMintAccount as mintOf } from '../../../../src/server/chain/solana/read-mint.ts'
import { signMint } from '../../../../src/server/chain/solana/sign-mint.ts'
import { signerFromSeed } from '../../../../src/server/chain/solana/solana-signer.ts'
import { freshDataDir } from '../../../helpers/backend.ts'
import { executeAll, memorySlotJournal, readMint, solanaWallet } from '../../../helpers/solana.ts'
import { isTransactionToSdk } from '../../../helpers/solana-sdk.ts'

const SEED = randomBytes(32)
const signer = signerFromSeed(SEED)
const RECEIVER = solanaWallet('receiver')
const GENESIS_MS = memorySlotJournal().genesisTimestamp * 1000

let clock = GENESIS_MS
const open: EmbeddedSolana[] = []
const start = async (journal = memorySlotJournal(), options: Partial<EmbeddedSolanaOptions> = {}) => {
  const payer = signer.address
  const chain = await startEmbeddedSolana({ blockchain: 'solana', journal, payer, now: () => clock, ...options })
  open.push(chain)
  return chain
}
afterEach(async () => {
  clock = GENESIS_MS
  for (const chain of open.splice(0)) await chain.close()
})

const group = newId()
const order = (id: string, name = 'A') => ({
  id,
  group: id === group ? null : mintAddress(signer.address, group),
  name,
  symbol: 'T',
  uri: 'ipfs://bafkreidckq4slwf6wpcevf3oyvzy73hweo5j56gtsu6rtb25a5dktclloi/0.json',
  receiver: RECEIVER,
  locked: false,
})
const sign = async (chain: EmbeddedSolana, id: string, name?: string) =>
  signMint(signer, chain, order(id, name), await chain.latestBlockhash())
/** Mints a group and `count` members, each in a separate block; returns their IDs. */
const mintSome = async (chain: EmbeddedSolana, count: number) => {
  const ids = [group, ...Array.from({ length: count }, newId)]
  for (const id of ids) expect(await chain.send([(await sign(chain, id)).raw])).toEqual([{ outcome: 'accepted' }])
  return ids
}
const accountsOf = (chain: EmbeddedSolana, ids: readonly string[]) =>
  Promise.all(ids.map((id) => chain.account(mintAddress(signer.address, id))))

/** A payment signed by the service's key, built without gdn's code. */
async function pay(chain: EmbeddedSolana, to: string, amount: bigint) {
  const payer = await createKeyPairSignerFromPrivateKeyBytes(SEED)
  const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash()
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: BigInt(lastValidBlockHeight) }
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (draft) => setTransactionMessageFeePayerSigner(payer, draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) =>
      appendTransactionMessageInstruction(
        getTransferSolInstruction({ source: payer, destination: address(to), amount }),
        draft,
      ),
  )
  return getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message))
}

describe('send()', () => {
  it('stores the slot of an executed transaction and reports the same bytes as known', async () => {
    const chain = await start()
    const { raw, signature } = await sign(chain, group)
    expect(await chain.statuses([signature])).toEqual([null])
    expect(await chain.send([raw, raw])).toEqual([{ outcome: 'accepted' }, { outcome: 'known' }])
    expect(await chain.send([raw])).toEqual([{ outcome: 'known' }])
    expect(await chain.statuses([signature])).toEqual([{ slot: chain.slot, error: null }])
    expect(await chain.account(mintAddress(signer.address, group))).toMatchObject({ owner: TOKEN_2022 })
  })

  it('fails a second transaction for the same ID without minting twice', async () => {
    const chain = await start()
    const ids = await mintSome(chain, 1)
    const before = await accountsOf(chain, ids)
    const again = await sign(chain, ids[1] ?? '', 'Another name')
    expect(await chain.send([again.raw])).toEqual([{ outcome: 'accepted' }])
    expect((await chain.statuses([again.signature]))[0]?.error).toMatch(/InstructionError/)
    expect(await accountsOf(chain, ids)).toEqual(before)
  })

  it('mints at an address that already holds a balance', async () => {
    const chain = await start()
    await mintSome(chain, 0)
    const id = newId()
    await chain.send([await pay(chain, mintAddress(signer.address, id), 5_000_000n)])
    const { raw, signature } = await sign(chain, id)
    await chain.send([raw])
    expect(await chain.statuses([signature])).toMatchObject([{ error: null }])
  })

  it('rejects bytes that are not a transaction, and executes the other transactions', async () => {
    const chain = await start()
    const { raw, signature } = await sign(chain, group)
    const wrong = ['', 'AAAA', Buffer.alloc(1300, 1).toString('base64')]
    expect((await chain.send([...wrong, raw])).map(({ outcome }) => outcome)).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'accepted',
    ])
    expect(await chain.statuses([signature])).toMatchObject([{ error: null }])
  })

  it('rejects almost valid transactions, which would abort the virtual machine', async () => {
    const journal = memorySlotJournal()
    const chain = await start(journal)
    const bytes = Buffer.from((await sign(chain, group)).raw, 'base64')
    // The signature and three header bytes precede the account count, here in two bytes instead of one.
    const count = bytes[68] ?? 0
    const odd = Buffer.concat([bytes.subarray(0, 68), Buffer.of(count | 128, 0), bytes.subarray(69)])
    const long = Buffer.concat([bytes, Buffer.of(0)])
    for (const wrong of [odd, long, bytes.subarray(0, -1)]) {
      expect(await chain.send([wrong.toString('base64')])).toMatchObject([{ outcome: 'rejected' }])
    }
    expect(journal.kept).toEqual([])
  })

  it('accepts only bytes that @solana/kit reads as one transaction', async () => {
    const chain = await start()
    const signed = Buffer.from((await sign(chain, group)).raw, 'base64')
    expect(isTransactionToSdk(signed)).toBe(true)
    // Lengths, indexes and the header are in the first bytes of each part, so any byte may be one.
    const change = fc.tuple(fc.nat(signed.length - 1), fc.nat(255), fc.constantFrom('change', 'insert', 'remove'))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        let bytes = signed
        for (const [at, byte, kind] of changes) {
          const added = kind === 'remove' ? [] : [byte]
          bytes = Buffer.from([...bytes.subarray(0, at), ...added, ...bytes.subarray(kind === 'insert' ? at : at + 1)])
        }
        if (typeof decodeTransaction(bytes.toString('base64')) !== 'string')
          expect(isTransactionToSdk(bytes)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  it('executes a transaction with an invalid signature without effect', async () => {
    const chain = await start()
    const bytes = Buffer.from((await sign(chain, group)).raw, 'base64')
    bytes[10] = (bytes[10] ?? 0) ^ 1
    await chain.send([bytes.toString('base64')])
    expect(await chain.account(mintAddress(signer.address, group))).toBeNull()
  })
})

describe('readMint()', () => {
  it('reads the members of a group and the metadata URL of any mint, as token-2022 does', async () => {
    const chain = await start()
    for (const id of await mintSome(chain, 2)) {
      const { data } = (await chain.account(mintAddress(signer.address, id))) ?? { data: new Uint8Array() }
      const { extensions } = getMintDecoder().decode(data)
      const all = extensions.__option === 'Some' ? extensions.value : []
      const { uri, name } = all.find((one) => one.__kind === 'TokenMetadata') ?? {}
      const { size } = all.find((one) => one.__kind === 'TokenGroup') ?? {}
      expect(uri).toBe(order(id).uri)
      expect(size).toBe(id === group ? 2n : undefined)
      const members = size === undefined ? null : Number(size)
      expect(mintOf(data)).toEqual({ supply: 1n, name, uri, updateAuthority: null, revision: null, members })
      expect(() => mintOf(data.subarray(0, -100))).toThrow()
    }
  })

  it('finds nothing in a mint without extensions', () => {
    const nothing = { supply: 0n, name: null, uri: null, updateAuthority: null, revision: null, members: null }
    expect(mintOf(new Uint8Array(82))).toEqual(nothing)
  })
})

describe('the clock', () => {
  it('advances one slot every 400 ms, even without transactions', async () => {
    const chain = await start()
    expect(await chain.blockHeight()).toBe(0)
    clock += 4000
    expect(await chain.blockHeight()).toBe(10)
    await mintSome(chain, 20)
    expect(chain.slot).toBe(30)
    expect(await chain.blockHeight()).toBe(30)
  })

  it('invalidates a blockhash only after its last valid block height', async () => {
    const chain = await start()
    const [inTime, late] = [await sign(chain, group), await sign(chain, newId())]
    clock += inTime.lastValidBlockHeight * 400
    expect(await chain.blockHeight()).toBe(inTime.lastValidBlockHeight)
    expect(await chain.send([inTime.raw])).toEqual([{ outcome: 'accepted' }])
    clock += 400
    expect(await chain.blockHeight()).toBeGreaterThan(late.lastValidBlockHeight)
    expect(await chain.send([late.raw])).toEqual([{ outcome: 'rejected', reason: 'Blockhash not found' }])
    // Setting the clock back doesn't make it valid again.
    clock = GENESIS_MS
    expect(await chain.send([late.raw])).toEqual([{ outcome: 'rejected', reason: 'Blockhash not found' }])
  })

  it('has 151 valid blockhashes, in whichever steps it advances', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 10 }), (steps) => {
        const blockhashes = createBlockhashes('chain')
        let slot = 0
        for (const step of steps) {
          slot += step
          const valid = Array.from({ length: slot + 2 }, (_, at) => at).filter((at) =>
            blockhashes.isValid(blockhashes.at(at), slot),
          )
          expect([valid[0], valid.at(-1)]).toEqual([Math.max(0, slot - 150), slot])
        }
      }),
      { numRuns: 20 },
    )
  })

  it('yields the same blockhashes after a restart, and different ones for another chain', async () => {
    const journal = memorySlotJournal()
    const first = await (await start(journal)).latestBlockhash()
    expect(await (await start(journal)).latestBlockhash()).toEqual(first)
    const other = { ...memorySlotJournal(), genesisTimestamp: journal.genesisTimestamp - 1 }
    expect((await (await start(other)).latestBlockhash()).blockhash).not.toBe(first.blockhash)
  })
})

describe('the journal', () => {
  it('replays to identical accounts, statuses and next slot', async () => {
    const journal = memorySlotJournal()
    const chain = await start(journal)
    const ids = await mintSome(chain, 10)
    const failed = await sign(chain, ids[3] ?? '')
    await chain.send([failed.raw])
    const again = await start(journal)
    expect(await accountsOf(again, ids)).toEqual(await accountsOf(chain, ids))
    expect(await again.statuses([failed.signature])).toEqual(await chain.statuses([failed.signature]))
    expect(again.slot).toBe(chain.slot)
    expect(await again.send([failed.raw])).toEqual([{ outcome: 'known' }])
  })

  it("replays to the same mints without gdn's code", async () => {
    const journal = memorySlotJournal()
    const chain = await start(journal)
    const ids = await mintSome(chain, 5)
    const machine = executeAll(journal.kept.flatMap(({ transactions }) => transactions))
    for (const id of ids) {
      const mint = mintAddress(signer.address, id)
      const found = machine.getAccount(address(mint))
      expect(found.exists && Buffer.from(found.data)).toEqual(Buffer.from((await chain.account(mint))?.data ?? []))
    }
    expect(readMint(machine, mintAddress(signer.address, group))?.group?.size).toBe(5n)
  })

  it("stores a block before it is executed, so that a crash in between doesn't lose the block", async () => {
    const journal = memorySlotJournal()
    const chain = await start(journal)
    await mintSome(chain, 2)
    let atDeath = journal.kept.length
    journal.afterAppend = () => {
      atDeath = journal.kept.length
      throw new Error('died')
    }
    const id = newId()
    const { raw, signature } = await sign(chain, id)
    await expect(chain.send([raw])).rejects.toThrow('died')
    journal.afterAppend = () => {}
    const again = await start(memorySlotJournal(journal.kept.slice(0, atDeath)))
    expect(await again.statuses([signature])).toMatchObject([{ error: null }])
    expect(await again.send([raw])).toEqual([{ outcome: 'known' }])
    // The same holds if only the response of the database was lost and the process continues.
    expect(await chain.statuses([signature])).toEqual(await again.statuses([signature]))
    expect(await accountsOf(chain, [group, id])).toEqual(await accountsOf(again, [group, id]))
  })

  describe('with a snapshot', () => {
    /** Enough members for a snapshot at the end, and one after it. */
    const MANY = 600
    let dir: Awaited<ReturnType<typeof freshDataDir>>
    let snapshotPath: string
    let journal: ReturnType<typeof memorySlotJournal>
    let ids: string[]
    beforeAll(async () => {
      dir = await freshDataDir()
      snapshotPath = join(dir.path, 'chains', 'solana.snapshot')
      journal = memorySlotJournal()
      const chain = await start(journal, { snapshotPath })
      ids = await mintSome(chain, 0)
      for (let at = 0; at < MANY; at += 200) {
        const some = Array.from({ length: 200 }, newId)
        const signed = await Promise.all(some.map((id) => sign(chain, id)))
        await chain.send(signed.map(({ raw }) => raw))
        ids.push(...some)
      }
      await chain.close()
      const next = await start(journal, { snapshotPath })
      const last = newId()
      await next.send([(await sign(next, last)).raw])
      ids.push(last)
      await next.close()
    })
    afterAll(async () => dir.remove())
    const replayed = async (from: typeof journal) => {
      let transactions = -1
      const onEvent = (event: EmbeddedSolanaEvent) => {
        if (event.type === 'ready') transactions = event.transactions
      }
      return { chain: await start(from, { snapshotPath, onEvent }), transactions }
    }

    it('replays only what follows the snapshot, to the same accounts and statuses', async () => {
      const { chain, transactions } = await replayed(journal)
      expect(transactions).toBe(1)
      const whole = await start(journal)
      expect(await accountsOf(chain, ids)).toEqual(await accountsOf(whole, ids))
      expect(chain.slot).toBe(whole.slot)
      const known = journal.kept.at(-2)?.transactions.at(-1) ?? ''
      expect(await chain.send([known])).toEqual([{ outcome: 'known' }])
    })

    it('replays in full if the snapshot is damaged, truncated or missing', async () => {
      const good = await readFile(snapshotPath)
      const damaged = Buffer.from(good)
      damaged[good.length - 9] = (damaged[good.length - 9] ?? 0) ^ 1
      try {
        for (const bad of [damaged, good.subarray(0, good.length / 2), Buffer.from('{}'), Buffer.alloc(0)]) {
          await writeFile(snapshotPath, bad)
          expect((await replayed(journal)).transactions).toBe(MANY + 2)
        }
        await rm(snapshotPath)
        expect((await replayed(journal)).transactions).toBe(MANY + 2)
      } finally {
        await writeFile(snapshotPath, good)
      }
    })

    it("reports a snapshot that can't be written, and continues", async () => {
      const events: string[] = []
      const onEvent = ({ type }: EmbeddedSolanaEvent) => void events.push(type)
      const chain = await start(memorySlotJournal(journal.kept), { snapshotPath: join(dir.path, 'chains'), onEvent })
      expect(await accountsOf(chain, ids.slice(0, 3))).not.toContain(null)
      await chain.close()
      // A slow machine reports the replay, too.
      expect(events.filter((type) => type !== 'replaying')).toEqual(['ready', 'no_snapshot'])
    })

    it('replays in full if the snapshot is from another journal, as after a restored backup', async () => {
      const older = memorySlotJournal(journal.kept.slice(0, 3))
      expect((await replayed(older)).transactions).toBe(401)
      const other = memorySlotJournal(journal.kept.map((block) => ({ ...block, timestamp: block.timestamp + 1 })))
      expect((await replayed(other)).transactions).toBe(MANY + 2)
    })
  })

  it("executes nothing while it can't be written, and accepts the same bytes later", async () => {
    const journal = memorySlotJournal()
    const chain = await start(journal)
    await mintSome(chain, 1)
    journal.beforeAppend = () => {
      throw new Error('disk full')
    }
    const id = newId()
    const { raw, signature } = await sign(chain, id)
    await expect(chain.send([raw])).rejects.toThrow('disk full')
    journal.beforeAppend = () => {}
    expect(await chain.statuses([signature])).toEqual([null])
    expect(await accountsOf(chain, [id])).toEqual([null])
    expect(await chain.send([raw])).toEqual([{ outcome: 'accepted' }])
    expect(await chain.statuses([signature])).toMatchObject([{ error: null }])
  })
})
