/** @module-tag slow */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeFreeze } from '../../../../../src/server/chain/evm/collection-updates.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { runs } from '../../../../helpers/runs.ts'
import { type Chain, cidOf, makeCollection, random, startChain } from './fixture.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

const person = fc.nat({ max: 3 })
// Not fc.double, which is nearly always close to 0.
const place = fc.nat({ max: 999 }).map((n) => n / 1000)
const places = fc.array(place, { minLength: 1, maxLength: 12 })
const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom('mint' as const, 'mintDynamic' as const),
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
    token: place,
    to: person,
  }),
  fc.record({ kind: fc.constant('update' as const), tokens: places }),
  fc.record({ kind: fc.constant('freeze' as const), tokens: places }),
  fc.record({ kind: fc.constant('burn' as const), token: place, byService: fc.boolean() }),
)

interface Token {
  /** Null once it is burned. */
  owner: Hex | null
  uri: string
  revision: number
  dynamic: boolean
  frozen: boolean
}

test('owners, URIs, revisions and balances match a plain list after any sequence of operations', async () => {
  const people = [chain.alice, chain.bob, chain.carol, chain.stranger]
  const who = (index: number): Hex => people[index] ?? chain.alice
  const setup = fc.record({ dynamic: fc.boolean(), steps: fc.array(step, { minLength: 1, maxLength: 15 }) })

  await fc.assert(
    fc.asyncProperty(setup, async ({ dynamic, steps }) => {
      const collection = await makeCollection(chain, { enableTransfer: true, enableBurn: true, dynamic })
      // Token 1 is at index 0.
      const tokens: Token[] = []
      let updates = 0
      const add = (owners: readonly Hex[], digest: Hex, isDynamic: boolean) => {
        const uri = (index: number) => `ipfs://${cidOf(digest)}/${index}.json`
        const common = { revision: 0, dynamic: dynamic || isDynamic, frozen: false }
        tokens.push(...owners.map((owner, index) => ({ owner, uri: uri(index), ...common })))
      }
      const named = (found: readonly number[]) => [...new Set(found.map((one) => Math.floor(one * tokens.length)))]
      const idsOf = (indices: readonly number[]) => indices.map((index) => BigInt(index + 1))
      for (const action of steps) {
        const digest = random(32)
        if ('runs' in action) {
          const runs = action.runs.map(({ receiver, count }) => ({ receiver: who(receiver), count }))
          await collection.mint(runs, digest, action.kind === 'mintDynamic')
          const owners = runs.flatMap(({ receiver, count }) => Array.from({ length: count }, () => receiver))
          add(owners, digest, action.kind === 'mintDynamic')
        } else if (action.kind === 'grant') {
          const receivers = action.receivers.map(who)
          await collection.grant(who(action.sender), receivers, digest)
          add(receivers, digest, false)
        } else if (tokens.length === 0) {
        } else if (action.kind === 'update') {
          const indices = named(action.tokens)
          const error = errorOf(indices.map((index) => tokens[index]))
          expect(errorsOf(await collection.updateRevert(idsOf(indices), { digest }))).toBe(error)
          if (error !== null) continue
          await collection.update(idsOf(indices), { digest })
          updates += 1
          for (const index of indices) {
            const changed = { revision: updates, uri: `ipfs://${cidOf(digest)}/${index + 1}.json` }
            Object.assign(tokens[index] ?? {}, changed)
          }
        } else if (action.kind === 'freeze') {
          const indices = named(action.tokens)
          await chain.send(chain.operator, collection.address, encodeFreeze(idsOf(indices)))
          for (const index of indices) Object.assign(tokens[index] ?? {}, { frozen: true })
        } else {
          const index = Math.floor(action.token * tokens.length)
          const token = tokens[index]
          if (!token?.owner) continue
          const id = BigInt(index + 1)
          const to = 'to' in action ? who(action.to) : null
          if (to !== null) await collection.send(chain.operator, 'transferFrom', [token.owner, to, id])
          else {
            const from = 'byService' in action && action.byService ? chain.operator : token.owner
            await collection.send(from, 'burn', [token.owner, id])
          }
          token.owner = to
        }
      }
      const found = await Promise.all(
        tokens.map(async ({ owner }, index) => {
          const id = BigInt(index + 1)
          const state = await collection.read.metadataState([id])
          if (owner !== null) {
            return { owner: await collection.read.ownerOf([id]), uri: await collection.read.tokenURI([id]), ...state }
          }
          await expect(collection.read.ownerOf([id])).rejects.toThrow('OwnerQueryForNonexistentToken')
          await expect(collection.read.tokenURI([id])).rejects.toThrow('URIQueryForNonexistentToken')
          return { owner: null, uri: tokens[index]?.uri, ...state }
        }),
      )
      expect(found).toEqual(tokens)
      const balances = await Promise.all(people.map((address) => collection.read.balanceOf([address])))
      expect(balances).toEqual(people.map((owner) => BigInt(tokens.filter((token) => token.owner === owner).length)))
      expect(await collection.read.nextTokenId()).toBe(BigInt(tokens.length + 1))
      expect(await collection.read.totalSupply()).toBe(BigInt(tokens.filter(({ owner }) => owner !== null).length))
      expect(await collection.read.lifecycle()).toMatchObject({ updateCount: updates })
    }),
    { numRuns: runs(25) },
  )
})

/** Why an update of these tokens is refused; null if it isn't. */
function errorOf(tokens: readonly (Token | undefined)[]): string | null {
  return tokens.every((token) => token?.dynamic && !token.frozen) ? null : 'refused'
}

const errorsOf = (error: string | null) => (error === 'NotDynamic' || error === 'TokenFrozen' ? 'refused' : error)
