import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { runs } from '../../../../helpers/runs.ts'
import { type Chain, makeCollection, startChain } from './fixture.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

const person = fc.nat({ max: 3 })
const step = fc.oneof(
  fc.record({
    kind: fc.constant('mint' as const),
    runs: fc.array(fc.record({ receiver: person, count: fc.integer({ min: 1, max: 23 }) }), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  fc.record({
    kind: fc.constant('grant' as const),
    sender: person,
    receivers: fc.array(person, { minLength: 1, maxLength: 6 }),
  }),
  fc.record({
    kind: fc.constant('transfer' as const),
    token: fc.double({ min: 0, max: 0.999, noNaN: true }),
    to: person,
  }),
)

test('owners, balances and batch positions match a plain list after any mints, grants and transfers', async () => {
  const people = [chain.alice, chain.bob, chain.carol, chain.stranger]
  const who = (index: number): Hex => people[index] ?? chain.alice

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      const collection = await makeCollection(chain, { enableTransfer: true })
      // Token 1 is at index 0.
      const tokens: { owner: Hex; place: number }[] = []
      for (const action of steps) {
        if (action.kind === 'mint') {
          const runs = action.runs.map(({ receiver, count }) => ({ receiver: who(receiver), count }))
          await collection.mint(runs)
          const owners = runs.flatMap(({ receiver, count }) => Array.from({ length: count }, () => receiver))
          tokens.push(...owners.map((owner, place) => ({ owner, place })))
        } else if (action.kind === 'grant') {
          const receivers = action.receivers.map(who)
          await collection.grant(who(action.sender), receivers)
          tokens.push(...receivers.map((owner, place) => ({ owner, place })))
        } else {
          const index = Math.floor(action.token * tokens.length)
          const token = tokens[index]
          if (token === undefined) continue
          const to = who(action.to)
          await collection.send(chain.operator, 'transferFrom', [token.owner, to, BigInt(index + 1)])
          token.owner = to
        }
      }
      const found = await Promise.all(
        tokens.map(async (_, index) => {
          const id = BigInt(index + 1)
          const uri = await collection.read.tokenURI([id])
          return { owner: await collection.read.ownerOf([id]), place: Number(/\/(\d+)\.json$/.exec(uri)?.[1]) }
        }),
      )
      expect(found).toEqual(tokens)
      const balances = await Promise.all(people.map((address) => collection.read.balanceOf([address])))
      expect(balances).toEqual(people.map((owner) => BigInt(tokens.filter((token) => token.owner === owner).length)))
      expect(await collection.read.nextTokenId()).toBe(BigInt(tokens.length + 1))
    }),
    { numRuns: runs(25) },
  )
})
