import fc from 'fast-check'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { type MemoryBlockJournal, memoryBlockJournal } from '../../../../helpers/memory-block-journal.ts'
import { runs } from '../../../../helpers/runs.ts'
import { blockHash, COUNTER, killNode, NOON, type Started, sign, start } from './fixture.ts'

/** The same accounts in every run, so that a failing sequence is reproducible. */
const accounts = [1, 2, 3, 4].map((number) => privateKeyToAccount(`0x${number.toString(16).padStart(64, '0')}`))

type Offer = { sender: number; skip: number; kind: 'transfer' | 'deploy' | 'burn' | 'poor' | 'cheap' | 'again' }
type Step =
  | { do: 'offer'; offers: Offer[]; kill: 'never' | 'before' | 'at once' | 'when journalled' }
  | { do: 'wait'; seconds: number }
  | { do: 'read' }
  | { do: 'kill' }
  | { do: 'reopen'; forget: boolean }

const offer: fc.Arbitrary<Offer> = fc.record({
  sender: fc.nat({ max: accounts.length - 1 }),
  // Mostly the next nonce, otherwise a gap or a used nonce.
  skip: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, -1),
  kind: fc.constantFrom('transfer', 'transfer', 'transfer', 'deploy', 'burn', 'poor', 'cheap', 'again'),
})
const offering = fc.record({
  do: fc.constant('offer' as const),
  offers: fc.array(offer, { minLength: 1, maxLength: 6 }),
  kill: fc.constantFrom(
    'never' as const,
    'never' as const,
    'before' as const,
    'at once' as const,
    'when journalled' as const,
  ),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: offering, weight: 6 },
  {
    arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: -700, max: 700 }) }),
    weight: 1,
  },
  { arbitrary: fc.constant({ do: 'read' as const }), weight: 1 },
  { arbitrary: fc.constant({ do: 'kill' as const }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('reopen' as const), forget: fc.boolean() }), weight: 1 },
)

/** Runs the steps, with or without the crashes. */
async function run(steps: readonly Step[], deaths: boolean): Promise<MemoryBlockJournal> {
  let journal = memoryBlockJournal()
  let clock = NOON
  const open = (): Promise<Started> => start({ journal, now: () => clock })
  let { chain } = await open()
  const next = accounts.map(() => 0)
  const sent: Hex[] = []

  for (const one of steps) {
    if (one.do === 'wait') clock += one.seconds * 1000
    else if (one.do === 'read')
      await chain.request('eth_estimateGas', [{ from: accounts[0]?.address, to: accounts[1]?.address }])
    else if (one.do === 'offer') {
      const raws = await Promise.all(one.offers.map((each) => make(each, next, sent)))
      sent.push(...raws)
      if (deaths && one.kill === 'before') killNode(chain)
      if (deaths && one.kill === 'when journalled') journal.afterAppend = () => killNode(chain)
      const broadcast = chain.broadcast(raws)
      if (deaths && one.kill === 'at once') killNode(chain)
      await broadcast
      journal.afterAppend = () => {}
      for (const [index, { address }] of accounts.entries()) {
        next[index] = Number(await chain.request('eth_getTransactionCount', [address, 'latest']))
      }
    } else if (deaths) {
      if (one.do === 'kill') killNode(chain)
      else {
        await chain.close()
        journal = journal.copy()
        const last = journal.entries.at(-1)
        // The state that a process leaves if it dies before storing the hash.
        if (one.forget && last !== undefined) last.hash = null
        ;({ chain } = await open())
      }
    }
  }
  for (const { number, hash } of journal.entries) expect(await blockHash(chain, number)).toBe(hash)
  expect(Number(await chain.request('eth_blockNumber', []))).toBe(journal.entries.length)
  await chain.close()
  return journal
}

async function make({ sender, skip, kind }: Offer, next: readonly number[], sent: readonly Hex[]): Promise<Hex> {
  const account = accounts[sender]
  if (account === undefined) throw new Error('no such account')
  const nonce = Math.max(0, (next[sender] ?? 0) + skip)
  if (kind === 'again') return sent.at(-1) ?? sign(account, nonce)
  if (kind === 'deploy') return sign(account, nonce, { to: null, data: COUNTER, gas: 300_000n })
  if (kind === 'burn') return sign(account, nonce, { to: null, data: '0xfe', gas: 5_000_000n })
  if (kind === 'poor') return sign(account, nonce, { value: 10n ** 30n })
  // Of two with the same nonce, the one with the higher fee replaces the other in the pool.
  return sign(account, nonce, kind === 'cheap' ? { maxFeePerGas: 2_000_000_000n } : { value: BigInt(sent.length) })
}

test('any sequence of transactions, crashes and restarts yields the chain of an undisturbed run', {
  timeout: runs(15) * 20_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const disturbed = await run(steps, true)
      const calm = await run(steps, false)
      expect(disturbed.entries).toEqual(calm.entries)
    }),
    { numRuns: runs(15), endOnFailure: true },
  )
})
