/** @module-tag slow */
import fc from 'fast-check'
import { encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeGrant, encodeMint } from '../../../../../src/server/chain/evm/collection.ts'
import { encodeBurn, encodeFreeze, encodeUpdate } from '../../../../../src/server/chain/evm/collection-updates.ts'
import { gdnFactory } from '../../../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import {
  BURN_GAS_LIMIT,
  COMMIT_PROVENANCE_GAS_LIMIT,
  freezeGasLimit,
  grantGasLimit,
  mintGasLimit,
  TRANSFER_GAS_LIMIT,
  updateGasLimit,
} from '../../../../../src/server/chain/evm/gas-limits.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { runs } from '../../../../helpers/runs.ts'
import { type Chain, cidOf, encodeCall, makeCollection, random, startChain, ZERO } from './fixture.ts'
import type { RevertName } from './revert.ts'

let chain: Chain

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())

const KINDS = [
  ...(['mint', 'mint', 'mintDynamic', 'mintDynamic', 'grant', 'update', 'update', 'update', 'freeze'] as const),
  ...(['burn', 'burn', 'transferFrom', 'transferFrom', 'approve', 'setApprovalForAll', 'commitProvenance'] as const),
  ...([
    'setEnableApi',
    'setEnableTransfer',
    'transferOwnership',
    'acceptOwnership',
    'setOperator',
    'setMaxSupply',
  ] as const),
  ...(['setDefaultRoyalty', 'setContractURI', 'freezeMetadata', 'revokeService', 'renounceOwnership'] as const),
]
/** Rare, so that most runs have many steps without them. */
const FINAL = new Set<string>(['freezeMetadata', 'revokeService', 'renounceOwnership'])

// Not fc.double, which is nearly always close to 0.
const unit = fc.nat({ max: 999 }).map((n) => n / 1000)
const step = fc.record({
  kind: fc.constantFrom(...KINDS),
  from: unit,
  to: unit,
  token: unit,
  first: unit,
  length: fc.constantFrom(1, 1, 2, 9, 10, 11, 50, 200, 201),
  shift: fc.constantFrom(0, 0, 0, 0, 0, 1, -1),
  on: fc.boolean(),
  rare: unit,
})
const setup = fc.record({
  ...{ enableTransfer: fc.boolean(), locked: fc.boolean(), dynamic: fc.boolean(), enableBurn: fc.boolean() },
  maxSupply: fc.constantFrom(0n, 0n, 40n, 500n),
  steps: fc.array(step, { minLength: 20, maxLength: 60 }),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const FIRST: readonly Step[] = (['mintDynamic', 'mint', 'update'] as const).map((kind) => ({
  ...{ kind, from: 0, to: 0, token: 0, first: 0, length: 11, shift: 0, on: true, rare: 0 },
}))
const OF_HOLDERS = new Set<string>(['burn', 'transferFrom', 'approve', 'setApprovalForAll'])
const OF_SERVICE = new Set<string>(['mint', 'mintDynamic', 'grant', 'update', 'freeze', 'commitProvenance'])

interface Token {
  /** Null once it is burned. */
  owner: Hex | null
  uri: string
  revision: number
  dynamic: boolean
  frozen: boolean
  approved: Hex
}

/** What an account asks the contract for, and what the model expects. */
interface Act {
  data: Hex
  to?: Hex
  error: RevertName | null
  apply(): void
  /** The gas that the service gives it. */
  gas?: bigint
}

test('any account may do what its rights allow, and nothing else, after any sequence of calls', async () => {
  await fc.assert(
    fc.asyncProperty(setup, async ({ steps, ...flags }) => {
      const collection = await makeCollection(chain, flags)
      const { operator, admin, owner: creator, alice, bob, carol, stranger } = chain
      const people = [operator, operator, operator, creator, alice, bob, carol, stranger, admin]
      const pick = <T>(list: readonly T[], at: number): T => list[Math.floor(at * list.length)] as T
      const tokens: Token[] = []
      const state = { owner: creator as Hex, pending: ZERO, api: true, transfer: flags.enableTransfer, revoked: false }
      let [isFrozen, updates, royalty, uri] = [false, 0, { receiver: ZERO, amount: 0n }, '']
      let max = Number(flags.maxSupply)
      const operators = new Set<Hex>([operator])
      const forAll = new Set<string>()
      const provenances = new Map<Hex, number>()

      const service = (from: Hex): RevertName | null =>
        state.revoked ? 'ServiceIsRevoked' : !state.api ? 'ApiDisabled' : operators.has(from) ? null : 'NotOperator'
      const ofOwner = (from: Hex): RevertName | null => (from === state.owner ? null : 'OwnableUnauthorizedAccount')
      const isApproved = (from: Hex, holder: Hex) =>
        forAll.has(`${holder} ${from}`) || (state.transfer && !flags.locked && operators.has(from))

      /** Tokens from one on, some of which may not exist. */
      const rangeOf = ({ first, length }: Step) => {
        const start = 1 + Math.floor(first * tokens.length)
        return Array.from({ length }, (_, index) => start + index)
      }
      const add = (owners: readonly Hex[], digest: Hex, dynamic: boolean) => {
        const common = { revision: 0, dynamic, frozen: false, approved: ZERO }
        tokens.push(
          ...owners.map((owner, index) => ({ owner, uri: `ipfs://${cidOf(digest)}/${index}.json`, ...common })),
        )
      }

      const actOf = (one: Step, from: Hex): Act => {
        const { kind, shift, length, on } = one
        const digest = random(32)
        const to = pick([alice, bob, carol, stranger], one.to)
        const next = tokens.length + 1
        const startId = BigInt(Math.max(0, next + shift))
        const tokenId = Math.floor(one.token * (tokens.length + 2))
        const token = tokens[tokenId - 1]
        const ids = rangeOf(one).map(BigInt)
        const namedTokens = ids.map((id) => tokens[Number(id) - 1])
        const missing: RevertName | null = namedTokens.includes(undefined) ? 'NotMinted' : null
        const tooMany: RevertName | null = length > 200 ? 'BatchTooLarge' : null
        const stale: RevertName | null = shift === 0 ? null : 'StaleStartId'
        const isFull = (more: number) => max !== 0 && tokens.length + more > max
        const noToken: RevertName | null = token?.owner ? null : 'OwnerQueryForNonexistentToken'
        switch (kind) {
          case 'mint':
          case 'mintDynamic': {
            const dynamic = kind === 'mintDynamic'
            const groups = [{ receiver: to, count: length }]
            return {
              data: encodeMint({ startId, groups, digest, dynamic }),
              error: service(from) ?? stale ?? tooMany ?? (isFull(length) ? 'MaxSupplyExceeded' : null),
              gas: mintGasLimit(groups, flags.locked, dynamic),
              apply: () =>
                add(
                  Array.from({ length }, () => to),
                  digest,
                  dynamic || flags.dynamic,
                ),
            }
          }
          case 'grant': {
            const receivers = [to, alice]
            const closed = flags.locked ? 'TokenLocked' : state.transfer ? null : 'TransferDisabled'
            return {
              data: encodeGrant({ startId, sender: carol, receivers, digest }),
              error: service(from) ?? stale ?? closed ?? (isFull(2) ? 'MaxSupplyExceeded' : null),
              gas: grantGasLimit(receivers),
              apply: () => add(receivers, digest, flags.dynamic),
            }
          }
          case 'update': {
            const refused = namedTokens.find((found) => !found?.dynamic) ? 'NotDynamic' : null
            const frozen = namedTokens.find((found) => found?.frozen) ? 'TokenFrozen' : null
            const sequence = Math.max(0, updates + 1 + shift)
            const order = isFrozen ? 'MetadataIsFrozen' : shift === 0 ? null : 'StaleSequence'
            return {
              data: encodeUpdate({ sequence, tokenIds: ids, digest }),
              error: service(from) ?? order ?? tooMany ?? missing ?? refused ?? frozen,
              gas: updateGasLimit(ids),
              apply() {
                updates += 1
                for (const [index, found] of namedTokens.entries()) {
                  Object.assign(found ?? {}, { revision: updates, uri: `ipfs://${cidOf(digest)}/${ids[index]}.json` })
                }
              },
            }
          }
          case 'freeze':
            return {
              data: encodeFreeze(ids),
              error: service(from) ?? tooMany ?? missing,
              gas: freezeGasLimit(ids),
              apply() {
                for (const found of namedTokens) Object.assign(found ?? {}, { frozen: true })
              },
            }
          case 'burn': {
            const holder = on ? (token?.owner ?? to) : to
            const notHolder = token?.owner === holder ? null : 'NotHolder'
            const byService = from === holder ? null : (service(from) ?? (flags.enableBurn ? null : 'BurnDisabled'))
            return {
              data: encodeBurn({ holder, tokenId: BigInt(tokenId) }),
              error: noToken ?? notHolder ?? byService,
              gas: BURN_GAS_LIMIT,
              apply: () => Object.assign(token ?? {}, { owner: null, approved: ZERO }),
            }
          }
          case 'transferFrom': {
            const holder = on ? (token?.owner ?? alice) : alice
            const allowed = holder === from || token?.approved === from || isApproved(from, holder)
            return {
              data: encodeCall('transferFrom', [holder, to, BigInt(tokenId)]),
              error:
                noToken ??
                (token?.owner === holder ? null : 'TransferFromIncorrectOwner') ??
                (allowed ? null : 'TransferCallerNotOwnerNorApproved') ??
                (flags.locked ? 'TokenLocked' : null),
              gas: TRANSFER_GAS_LIMIT,
              apply: () => Object.assign(token ?? {}, { owner: to, approved: ZERO }),
            }
          }
          case 'approve': {
            const mayApprove = token?.owner === from || forAll.has(`${token?.owner} ${from}`)
            return {
              data: encodeCall('approve', [to, BigInt(tokenId)]),
              error:
                (flags.locked ? 'TokenLocked' : null) ??
                noToken ??
                (mayApprove ? null : 'ApprovalCallerNotOwnerNorApproved'),
              apply: () => Object.assign(token ?? {}, { approved: to }),
            }
          }
          case 'setApprovalForAll':
            return {
              data: encodeCall('setApprovalForAll', [to, on]),
              error: flags.locked ? 'TokenLocked' : null,
              apply: () => (on ? forAll.add(`${from} ${to}`) : forAll.delete(`${from} ${to}`)),
            }
          case 'commitProvenance': {
            const hash = provenances.size > 0 && on ? pick([...provenances.keys()], one.to) : digest
            return {
              data: encodeCall('commitProvenance', [hash]),
              error: service(from) ?? (provenances.has(hash) ? 'AlreadyCommitted' : null),
              gas: COMMIT_PROVENANCE_GAS_LIMIT,
              apply: () => provenances.set(hash, next),
            }
          }
          case 'setEnableApi':
          case 'setEnableTransfer':
            return {
              data: encodeCall(kind, [on]),
              error: ofOwner(from) ?? (state.revoked ? 'ServiceIsRevoked' : null),
              apply() {
                state[kind === 'setEnableApi' ? 'api' : 'transfer'] = on
              },
            }
          case 'revokeService':
            return {
              data: encodeCall('revokeService', []),
              error: ofOwner(from) ?? (state.revoked ? 'ServiceIsRevoked' : null),
              apply: () => Object.assign(state, { api: false, transfer: false, revoked: true }),
            }
          case 'transferOwnership': {
            const offered = on ? to : ZERO
            return {
              data: encodeCall('transferOwnership', [offered]),
              error: ofOwner(from),
              apply: () => Object.assign(state, { pending: offered }),
            }
          }
          case 'acceptOwnership':
            return {
              data: encodeCall('acceptOwnership', []),
              error: from === state.pending ? null : 'OwnableUnauthorizedAccount',
              apply: () => Object.assign(state, { owner: from, pending: ZERO }),
            }
          case 'renounceOwnership':
            return {
              data: encodeCall('renounceOwnership', []),
              error: ofOwner(from),
              apply: () => Object.assign(state, { owner: ZERO, pending: ZERO }),
            }
          case 'freezeMetadata':
            return {
              data: encodeCall('freezeMetadata', []),
              error: ofOwner(from),
              apply() {
                isFrozen = true
              },
            }
          case 'setDefaultRoyalty': {
            const bps = BigInt(length * 50)
            return {
              data: encodeCall('setDefaultRoyalty', [to, bps]),
              error: ofOwner(from) ?? (bps > 10_000n ? 'ERC2981InvalidDefaultRoyalty' : null),
              apply() {
                royalty = { receiver: to, amount: bps }
              },
            }
          }
          case 'setMaxSupply': {
            const value = Math.max(0, tokens.length + (on ? length : shift))
            const isLower = value > 0 && (max === 0 || value < max) && value >= tokens.length
            return {
              data: encodeCall('setMaxSupply', [BigInt(value)]),
              error: ofOwner(from) ?? (isLower ? null : 'InvalidMaxSupply'),
              apply() {
                max = value
              },
            }
          }
          case 'setContractURI':
            return {
              data: encodeCall('setContractURI', [digest]),
              error: ofOwner(from),
              apply() {
                uri = digest
              },
            }
          case 'setOperator': {
            const account = pick([operator, stranger], one.to)
            return {
              to: chain.factory,
              data: encodeFunctionData({ abi: gdnFactory.abi, functionName: 'setOperator', args: [account, on] }),
              error: from === admin ? null : 'NotAdmin',
              apply: () => (on ? operators.add(account) : operators.delete(account)),
            }
          }
        }
      }

      const rightful = ({ kind, on, from }: Step, holder: Hex | null | undefined): Hex => {
        if (kind === 'setOperator') return admin
        if (kind === 'acceptOwnership') return people.find((one) => one === state.pending) ?? stranger
        if (OF_HOLDERS.has(kind)) return (on && holder) || operator
        return OF_SERVICE.has(kind) ? operator : (people.find((one) => one === state.owner) ?? pick(people, from))
      }
      for (const one of [...FIRST, ...steps]) {
        if (one.kind === 'setOperator' && !one.on && one.rare > 0.2) continue
        if (FINAL.has(one.kind) && one.rare > 0.15) continue
        // Most calls are by an account that may have the right.
        const holder = tokens[Math.floor(one.token * (tokens.length + 2)) - 1]?.owner
        const from = one.rare < 0.75 ? rightful(one, holder) : pick(people, one.from)
        const { to = collection.address, data, error, apply, gas } = actOf(one, from)
        expect([one.kind, await chain.revertOf(from, to, data)]).toEqual([one.kind, error])
        if (error !== null) continue
        const receipt = await chain.node.send({ from, to, data, gas })
        expect([one.kind, receipt.status]).toEqual([one.kind, 'success'])
        apply()
      }
      // The factory is that of every run.
      for (const account of [operator, stranger]) {
        const args = [account, account === operator] as const
        const data = encodeFunctionData({ abi: gdnFactory.abi, functionName: 'setOperator', args })
        await chain.send(admin, chain.factory, data)
      }

      const { read } = collection
      const found = await Promise.all(
        tokens.map(async ({ owner, uri }, index) => {
          const id = BigInt(index + 1)
          const metadata = await read.metadataState([id])
          if (owner === null) return { owner, uri, approved: ZERO, ...metadata }
          const [holder, is, approved] = await Promise.all([
            read.ownerOf([id]),
            read.tokenURI([id]),
            read.getApproved([id]),
          ])
          return { owner: holder, uri: is, approved, ...metadata }
        }),
      )
      expect(found).toEqual(tokens.map((token) => ({ ...token, frozen: token.frozen || isFrozen })))
      for (const [index, { owner }] of tokens.entries()) {
        if (owner === null) await expect(read.ownerOf([BigInt(index + 1)])).rejects.toThrow('OwnerQueryForNonexistent')
      }
      for (const account of people) {
        expect(await read.balanceOf([account])).toBe(BigInt(tokens.filter(({ owner }) => owner === account).length))
      }
      expect(await read.totalSupply()).toBe(BigInt(tokens.filter(({ owner }) => owner !== null).length))
      expect(await read.state()).toEqual({
        ...{ owner: state.owner, enableApi: state.api, enableTransfer: state.transfer, revoked: state.revoked },
        ...{ locked: flags.locked, nextTokenId: BigInt(tokens.length + 1), maxSupply: BigInt(max) },
      })
      expect(await read.lifecycle()).toEqual({
        ...{ version: 2n, dynamic: flags.dynamic, enableBurn: flags.enableBurn, frozen: isFrozen },
        ...{ updateCount: updates, pendingOwner: state.pending },
      })
      for (const [hash, at] of provenances) expect(await read.provenanceOf([hash])).toBe(BigInt(at))
      expect(await read.royaltyInfo([1n, 10_000n])).toEqual([royalty.receiver, royalty.amount])
      if (uri !== '') expect(await read.contractURI()).toBe(uri)
    }),
    { numRuns: runs(12) },
  )
})
