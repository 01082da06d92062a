/** @module-tag slow */
import { decodeEventLog, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { compileReceivers } from './compile-receivers.ts'
import { type Chain, type Collection, encodeCall, makeCollection, startChain, ZERO } from './fixture.ts'

// The rules of OpenZeppelin's ERC-721 behavior suite, applied to a collection.

const FIRST = 1n
const SECOND = 2n
const MISSING = 1000n

let chain: Chain
let collection: Collection
const receivers = compileReceivers()

beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.node.stop())
beforeEach(async () => {
  collection = await makeCollection(chain)
  await collection.mint([{ receiver: chain.alice, count: 2 }])
})

async function deployReceiver(name: string): Promise<Hex> {
  const contract = receivers[name]
  if (contract === undefined) throw new Error(`no receiver ${name}`)
  return chain.deploy(contract.bytecode)
}

describe('interfaces', () => {
  test.each([
    ['ERC-165', '0x01ffc9a7'],
    ['ERC-721', '0x80ac58cd'],
    ['ERC-721 Metadata', '0x5b5e139f'],
    ['ERC-2981 royalties', '0x2a55205a'],
    ['ERC-173 ownership', '0x7f5828d0'],
  ] as const)('include %s', async (_, id) => {
    expect(await collection.read.supportsInterface([id])).toBe(true)
  })

  test.each(['0xffffffff', '0xb45a3c0e', '0x780e9d63'] as const)('don’t include %s', async (id) => {
    expect(await collection.read.supportsInterface([id])).toBe(false)
  })
})

describe('metadata', () => {
  test('has the name and symbol of the request', async () => {
    expect([await collection.read.name(), await collection.read.symbol()]).toEqual(['Sunrise', 'SUN'])
  })
})

describe('balanceOf and ownerOf', () => {
  test('the balance is the number of tokens owned, 0 without any', async () => {
    expect(await collection.read.balanceOf([chain.alice])).toBe(2n)
    expect(await collection.read.balanceOf([chain.bob])).toBe(0n)
    expect(await collection.read.totalSupply()).toBe(2n)
  })

  test('the balance of the zero address reverts', async () => {
    await expect(collection.read.balanceOf([ZERO])).rejects.toThrow('BalanceQueryForZeroAddress')
  })

  test('token IDs start at 1', async () => {
    expect(await collection.read.ownerOf([FIRST])).toBe(chain.alice)
    await expect(collection.read.ownerOf([0n])).rejects.toThrow('OwnerQueryForNonexistentToken')
  })

  test('a token that was not minted has no owner', async () => {
    await expect(collection.read.ownerOf([3n])).rejects.toThrow('OwnerQueryForNonexistentToken')
    await expect(collection.read.ownerOf([MISSING])).rejects.toThrow('OwnerQueryForNonexistentToken')
  })
})

describe.each(['transferFrom', 'safeTransferFrom', 'safeTransferFrom with data'] as const)('%s', (kind) => {
  const name = kind === 'transferFrom' ? 'transferFrom' : 'safeTransferFrom'
  type Arguments = [Hex, Hex, bigint] | [Hex, Hex, bigint, Hex]
  const args = (from: Hex, to: Hex, id: bigint): Arguments =>
    kind === 'safeTransferFrom with data' ? [from, to, id, '0x42'] : [from, to, id]
  // The three-argument form fits both functions; only safeTransferFrom has a fourth argument.
  const send = (by: Hex, from: Hex, to: Hex, id: bigint) => collection.send(by, name, args(from, to, id) as never)
  const revertOf = (by: Hex, from: Hex, to: Hex, id: bigint, value = 0n) =>
    collection.revertOf(by, name, args(from, to, id) as never, value)

  test('is allowed for the owner, an approved account and an approved operator', async () => {
    await collection.send(chain.alice, 'approve', [chain.bob, FIRST])
    await collection.send(chain.alice, 'setApprovalForAll', [chain.carol, true])
    expect(await revertOf(chain.alice, chain.alice, chain.stranger, FIRST)).toBeNull()
    expect(await revertOf(chain.bob, chain.alice, chain.stranger, FIRST)).toBeNull()
    expect(await revertOf(chain.carol, chain.alice, chain.stranger, FIRST)).toBeNull()
  })

  test('moves the token and its balance, emits one Transfer event, and clears the approval', async () => {
    await collection.send(chain.alice, 'approve', [chain.bob, FIRST])
    const { events } = await send(chain.bob, chain.alice, chain.carol, FIRST)
    expect(events).toEqual([`Transfer(${chain.alice}, ${chain.carol}, 1)`])
    expect(await collection.read.ownerOf([FIRST])).toBe(chain.carol)
    expect(await collection.read.ownerOf([SECOND])).toBe(chain.alice)
    expect(await collection.read.balanceOf([chain.alice])).toBe(1n)
    expect(await collection.read.balanceOf([chain.carol])).toBe(1n)
    expect(await collection.read.getApproved([FIRST])).toBe(ZERO)
    expect(await revertOf(chain.bob, chain.carol, chain.bob, FIRST)).toBe('TransferCallerNotOwnerNorApproved')
  })

  test('is allowed for an operator after the approval was withdrawn', async () => {
    await collection.send(chain.alice, 'setApprovalForAll', [chain.carol, true])
    await collection.send(chain.alice, 'approve', [ZERO, FIRST])
    await send(chain.carol, chain.alice, chain.bob, FIRST)
    expect(await collection.read.ownerOf([FIRST])).toBe(chain.bob)
  })

  test('to the owner itself changes only the approval', async () => {
    await collection.send(chain.alice, 'approve', [chain.bob, FIRST])
    const { events } = await send(chain.alice, chain.alice, chain.alice, FIRST)
    expect(events).toEqual([`Transfer(${chain.alice}, ${chain.alice}, 1)`])
    expect(await collection.read.ownerOf([FIRST])).toBe(chain.alice)
    expect(await collection.read.balanceOf([chain.alice])).toBe(2n)
    expect(await collection.read.getApproved([FIRST])).toBe(ZERO)
  })

  test('reverts for anyone else', async () => {
    expect(await revertOf(chain.stranger, chain.alice, chain.bob, FIRST)).toBe('TransferCallerNotOwnerNorApproved')
  })

  test('reverts if from is not the owner', async () => {
    expect(await revertOf(chain.alice, chain.bob, chain.bob, FIRST)).toBe('TransferFromIncorrectOwner')
  })

  test('reverts for a token that does not exist', async () => {
    expect(await revertOf(chain.alice, chain.alice, chain.bob, MISSING)).toBe('OwnerQueryForNonexistentToken')
  })

  test('reverts for the zero address, so that no token can be burned', async () => {
    expect(await revertOf(chain.alice, chain.alice, ZERO, FIRST)).toBe('TransferToZeroAddress')
  })

  test('reverts if it is sent with value, which could never be withdrawn', async () => {
    expect(await revertOf(chain.alice, chain.alice, chain.bob, FIRST, 1n)).toBe('ValueNotAccepted')
  })
})

describe('transfer to a contract', () => {
  const RECEIVED = parseAbi(['event Received(address operator, address from, uint256 tokenId, bytes data)'])

  test.each([
    ['without data', undefined, '0x'],
    ['with data', '0x42', '0x42'],
  ] as const)('calls the receiver with operator, previous owner, ID and data: %s', async (_, data, received) => {
    const to = await deployReceiver('Receiver')
    await collection.send(chain.alice, 'approve', [chain.bob, FIRST])
    const call = data === undefined ? ([chain.alice, to, FIRST] as const) : ([chain.alice, to, FIRST, data] as const)
    const receipt = await chain.node.send({
      from: chain.bob,
      to: collection.address,
      data: encodeCall('safeTransferFrom', call),
    })
    const log = receipt.logs.find((entry) => entry.address.toLowerCase() === to.toLowerCase())
    if (log === undefined) throw new Error('the receiver was not called')
    expect(decodeEventLog({ abi: RECEIVED, data: log.data, topics: log.topics }).args).toEqual({
      operator: chain.bob,
      from: chain.alice,
      tokenId: FIRST,
      data: received,
    })
    expect(await collection.read.ownerOf([FIRST])).toBe(to)
  })

  test.each([
    ['a contract that is not a receiver', 'NonReceiver', 'TransferToNonERC721ReceiverImplementer'],
    ['a receiver with another return value', 'WrongAnswerReceiver', 'TransferToNonERC721ReceiverImplementer'],
    ['a receiver that reverts without a reason', 'SilentlyRevertingReceiver', 'TransferToNonERC721ReceiverImplementer'],
    // The receiver's error is passed through.
    ['a receiver that reverts with its own error', 'RevertingReceiver', 'unknown'],
    ['a receiver that panics', 'PanickingReceiver', 'Panic'],
  ] as const)('safeTransferFrom reverts for %s', async (_, contract, error) => {
    const to = await deployReceiver(contract)
    expect(await collection.revertOf(chain.alice, 'safeTransferFrom', [chain.alice, to, FIRST])).toBe(error)
    expect(await collection.revertOf(chain.alice, 'safeTransferFrom', [chain.alice, to, FIRST, '0x42'])).toBe(error)
  })

  test("transferFrom and minting call no receiver, so that one contract can't fail a batch", async () => {
    const to = await deployReceiver('RevertingReceiver')
    await collection.send(chain.alice, 'transferFrom', [chain.alice, to, FIRST])
    await collection.mint([{ receiver: to, count: 1 }])
    expect(await collection.read.balanceOf([to])).toBe(2n)
  })
})

describe('approve', () => {
  test('approves one account at a time for a token, with an event', async () => {
    const { events } = await collection.send(chain.alice, 'approve', [chain.bob, FIRST])
    expect(events).toEqual([`Approval(${chain.alice}, ${chain.bob}, 1)`])
    await collection.send(chain.alice, 'approve', [chain.carol, FIRST])
    expect(await collection.read.getApproved([FIRST])).toBe(chain.carol)
    expect(await collection.read.getApproved([SECOND])).toBe(ZERO)
  })

  test('withdraws the approval for the zero address, with an event', async () => {
    await collection.send(chain.alice, 'approve', [chain.bob, FIRST])
    const { events } = await collection.send(chain.alice, 'approve', [ZERO, FIRST])
    expect(events).toEqual([`Approval(${chain.alice}, ${ZERO}, 1)`])
    expect(await collection.read.getApproved([FIRST])).toBe(ZERO)
  })

  test('is allowed for an operator of the owner, but not for the approved account', async () => {
    await collection.send(chain.alice, 'setApprovalForAll', [chain.carol, true])
    await collection.send(chain.carol, 'approve', [chain.bob, FIRST])
    expect(await collection.read.getApproved([FIRST])).toBe(chain.bob)
    expect(await collection.revertOf(chain.bob, 'approve', [chain.bob, FIRST])).toBe(
      'ApprovalCallerNotOwnerNorApproved',
    )
  })

  test('reverts for anyone else, and for a token that does not exist', async () => {
    expect(await collection.revertOf(chain.stranger, 'approve', [chain.bob, FIRST])).toBe(
      'ApprovalCallerNotOwnerNorApproved',
    )
    expect(await collection.revertOf(chain.alice, 'approve', [chain.bob, MISSING])).toBe(
      'OwnerQueryForNonexistentToken',
    )
    await expect(collection.read.getApproved([MISSING])).rejects.toThrow('ApprovalQueryForNonexistentToken')
  })

  test('reverts if it is sent with value', async () => {
    expect(await collection.revertOf(chain.alice, 'approve', [chain.bob, FIRST], 1n)).toBe('ValueNotAccepted')
  })
})

describe('setApprovalForAll', () => {
  test('approves and removes an operator, with events', async () => {
    const approved = await collection.send(chain.alice, 'setApprovalForAll', [chain.bob, true])
    expect(approved.events).toEqual([`ApprovalForAll(${chain.alice}, ${chain.bob}, true)`])
    expect(await collection.read.isApprovedForAll([chain.alice, chain.bob])).toBe(true)
    expect(await collection.read.isApprovedForAll([chain.bob, chain.alice])).toBe(false)

    const dismissed = await collection.send(chain.alice, 'setApprovalForAll', [chain.bob, false])
    expect(dismissed.events).toEqual([`ApprovalForAll(${chain.alice}, ${chain.bob}, false)`])
    expect(await collection.read.isApprovedForAll([chain.alice, chain.bob])).toBe(false)
    expect(await collection.revertOf(chain.bob, 'transferFrom', [chain.alice, chain.bob, FIRST])).toBe(
      'TransferCallerNotOwnerNorApproved',
    )
  })

  test('may be called twice, and reverts for the zero address', async () => {
    await collection.send(chain.alice, 'setApprovalForAll', [chain.bob, true])
    await collection.send(chain.alice, 'setApprovalForAll', [chain.bob, true])
    expect(await collection.read.isApprovedForAll([chain.alice, chain.bob])).toBe(true)
    expect(await collection.revertOf(chain.alice, 'setApprovalForAll', [ZERO, true])).toBe('InvalidOperator')
  })
})
