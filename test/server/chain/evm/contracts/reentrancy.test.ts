import { encodeFunctionData, parseAbi, parseEventLogs } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { encodeGrant, encodeMint } from '../../../../../src/server/chain/evm/collection.ts'
import { encodeFreeze, encodeUpdate } from '../../../../../src/server/chain/evm/collection-updates.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { compileReceivers } from './compile-receivers.ts'
import { type Chain, type Collection, encodeCall, makeCollection, random, startChain, ZERO } from './fixture.ts'
import { revertName } from './revert.ts'

// A receiver is called by safeTransferFrom alone, and may call the collection meanwhile.

const RECEIVER = parseAbi(['function prepare(bytes[])', 'event Called(bool success, bytes answer)'])
const bytecode = compileReceivers().ReenteringReceiver?.bytecode ?? '0x'

let chain: Chain
let collection: Collection
let receiver: Hex

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain, { dynamic: true, enableBurn: true, enableTransfer: true })
  await collection.mint([{ receiver: chain.alice, count: 3 }])
  receiver = await chain.deploy(bytecode)
})

const prepare = (calls: readonly Hex[]) => encodeFunctionData({ abi: RECEIVER, functionName: 'prepare', args: [calls] })

/** Alice sends token 2. Resolves with the error of each call that the receiver makes, null without one. */
async function received(...calls: readonly Hex[]): Promise<(string | null)[]> {
  await chain.send(chain.stranger, receiver, prepare(calls))
  const data = encodeCall('safeTransferFrom', [chain.alice, receiver, 2n])
  const receipt = await chain.node.send({ from: chain.alice, to: collection.address, data })
  expect(receipt.status).toBe('success')
  const logs = receipt.logs as unknown as Parameters<typeof parseEventLogs>[0]['logs']
  const events = parseEventLogs({ abi: RECEIVER, logs })
  return events.map(({ args }) => (args.success ? null : revertName(args.answer)))
}

const owners = () => Promise.all([1n, 2n, 3n].map((id) => collection.read.ownerOf([id])))
const balances = () =>
  Promise.all([chain.alice, chain.bob, receiver].map((holder) => collection.read.balanceOf([holder])))

test('a receiver passes a token on while it receives it, once', async () => {
  const passOn = encodeCall('transferFrom', [receiver, chain.bob, 2n])
  expect(await received(passOn, passOn)).toEqual([null, 'TransferFromIncorrectOwner'])
  expect(await owners()).toEqual([chain.alice, chain.bob, chain.alice])
  expect(await balances()).toEqual([2n, 1n, 0n])
})

test('a receiver burns a token while it receives it, once', async () => {
  const burn = encodeCall('burn', [receiver, 2n])
  expect(await received(burn, burn)).toEqual([null, 'OwnerQueryForNonexistentToken'])
  await expect(collection.read.ownerOf([2n])).rejects.toThrow('OwnerQueryForNonexistentToken')
  expect(await balances()).toEqual([2n, 0n, 0n])
  expect(await collection.read.totalSupply()).toBe(2n)
})

test('a receiver receives a token a second time while it receives it', async () => {
  const toItself = encodeCall('safeTransferFrom', [receiver, receiver, 2n])
  expect(await received(toItself)).toEqual([null])
  expect(await owners()).toEqual([chain.alice, receiver, chain.alice])
  expect(await balances()).toEqual([2n, 0n, 1n])
})

test('a receiver has no more rights while it receives a token, and the approval has ended', async () => {
  await collection.send(chain.alice, 'approve', [receiver, 2n])
  const groups = [{ receiver, count: 1 }]
  expect(
    await received(
      encodeMint({ startId: 4n, groups, digest: random(32) }),
      encodeMint({ startId: 4n, groups, digest: random(32), dynamic: true }),
      encodeGrant({ startId: 4n, sender: chain.alice, receivers: [receiver], digest: random(32) }),
      encodeUpdate({ sequence: 1, tokenIds: [2n], digest: random(32) }),
      encodeFreeze([2n]),
      encodeCall('commitProvenance', [random(32)]),
      encodeCall('freezeMetadata', []),
      encodeCall('burn', [chain.alice, 1n]),
      encodeCall('transferFrom', [chain.alice, receiver, 1n]),
      encodeCall('transferFrom', [chain.alice, receiver, 2n]),
    ),
  ).toEqual([
    ...Array.from({ length: 6 }, () => 'NotOperator'),
    ...['OwnableUnauthorizedAccount', 'NotOperator', 'TransferCallerNotOwnerNorApproved', 'TransferFromIncorrectOwner'],
  ])
  expect(await collection.read.getApproved([2n])).toBe(ZERO)
  expect(await collection.read.nextTokenId()).toBe(4n)
  expect(await collection.read.lifecycle()).toMatchObject({ updateCount: 0, frozen: false })
  expect(await owners()).toEqual([chain.alice, receiver, chain.alice])
})

test('mints, grants and transfers of the service call no receiver', async () => {
  await chain.send(chain.stranger, receiver, prepare([encodeCall('burn', [receiver, 4n])]))
  await collection.mint([{ receiver, count: 1 }])
  await collection.mint([{ receiver, count: 1 }], random(32), true)
  await collection.grant(chain.alice, [receiver])
  await collection.send(chain.operator, 'transferFrom', [chain.alice, receiver, 1n])
  expect(await collection.read.balanceOf([receiver])).toBe(4n)
})
