import { randomBytes } from 'node:crypto'
import { CID } from 'multiformats/cid'
import * as digests from 'multiformats/hashes/digest'
import { encodeDeployData, encodeFunctionData, zeroAddress } from 'viem'
import { encodeGrant, encodeMint, encodeTransfer, type ReceiverGroup } from '../src/server/chain/evm/collection.ts'
import { encodeUpdate } from '../src/server/chain/evm/collection-updates.ts'
import {
  type CollectionInit,
  encodeDeployFactory,
  encodeMake,
  factoryAddress,
  predictCollection,
} from '../src/server/chain/evm/factory.ts'
import type { Hex } from '../src/server/chain/evm/network.ts'
import { type DevNode, startDevNode } from '../test/helpers/evm-devnode.ts'
import { compileBaseline } from './baseline.ts'
import type { Figure } from './figures.ts'

// As long as the URI of a file with its own CID, which this contract needs for each token.
const URI = 'ipfs://bafkreidckq4slwf6wpcevf3oyvzy73hweo5j56gtsu6rtb25a5dktclloi'

const directory = () => `ipfs://${CID.createV1(0x70, digests.create(0x12, randomBytes(32)))}`

const ERC721A = 'ERC721A with a base URI'
/** Each contract mints two tokens before. */
const FIRST_OF_FIFTY = 3

/** Gas per token on a fresh chain, compared with OpenZeppelin and ERC721A in the same run. */
export async function measure(): Promise<Figure[]> {
  const node = await startDevNode()
  try {
    return await mintAll(node)
  } finally {
    await node.stop()
  }
}

async function mintAll(node: DevNode): Promise<Figure[]> {
  const ours = await deployOurs(node)
  const openZeppelin = await deployOpenZeppelin(node)
  const erc721a = await deployErc721a(node)
  // The first mint of a contract writes slots that later ones only change.
  await ours.mint(toEach(1))
  await openZeppelin.mint(random(20))
  await erc721a.mint(random(20), 1)

  const [, , holder] = node.accounts
  if (holder === undefined) throw new Error('the node has too few accounts')
  const single = await ours.mint(toEach(1))
  const toOne = await ours.mint([{ receiver: holder, count: 50 }])
  const transfers = await transferAll(node, ours.address, holder)
  const toFifty = await ours.mint(toEach(50))
  const granted = await ours.grant(50)
  const toTwoHundred = await ours.mint(toEach(200))

  const theirSingle = await openZeppelin.mint(random(20))
  const theirToOne = await openZeppelin.mintBatch(Array.from({ length: 50 }, () => holder))
  const theirTransfers = await transferAll(node, openZeppelin.address, holder)
  const theirToFifty = await openZeppelin.mintBatch(Array.from({ length: 50 }, () => random(20)))
  const theirToTwoHundred = await openZeppelin.mintBatch(Array.from({ length: 200 }, () => random(20)))

  const cheapSingle = await erc721a.mint(random(20), 1)
  const cheapToOne = await erc721a.mint(holder, 50)
  const cheapTransfers = await transferAll(node, erc721a.address, holder)
  const cheapToFifty = await erc721a.mintBatch(Array.from({ length: 50 }, () => random(20)))
  const cheapToTwoHundred = await erc721a.mintBatch(Array.from({ length: 200 }, () => random(20)))

  const updates = await updateAll(ours, openZeppelin)

  return [
    row('mint of one, per token', single, theirSingle, 0.7),
    row('mint of 50 to one receiver, per token', toOne / 50, theirToOne / 50, 0.06),
    row('first transfer of these 50, per token', transfers / 50, theirTransfers / 50, null),
    row('mint of 50 to 50 receivers, per token', toFifty / 50, theirToFifty / 50, 0.36),
    row('createnfttrans of 50, per token', granted / 50, null, null),
    row('mint of 200 to 200 receivers, per token', toTwoHundred / 200, theirToTwoHundred / 200, null),
    ...updates,
    row('creation of a collection', ours.collectionGas, openZeppelin.contractGas, null),
    row('deployment of the factory', ours.factoryGas, null, null),
    row('mint of one, per token', single, cheapSingle, null, ERC721A),
    row('mint of 50 to one receiver, per token', toOne / 50, cheapToOne / 50, null, ERC721A),
    row('first transfer of these 50, per token', transfers / 50, cheapTransfers / 50, null, ERC721A),
    row(
      'mint to one receiver and first transfer, per token',
      (toOne + transfers) / 50,
      (cheapToOne + cheapTransfers) / 50,
      null,
      ERC721A,
    ),
    row('mint of 50 to 50 receivers, per token', toFifty / 50, cheapToFifty / 50, null, ERC721A),
    row('mint of 200 to 200 receivers, per token', toTwoHundred / 200, cheapToTwoHundred / 200, null, ERC721A),
  ]
}

/**
 * Updates 50 tokens in a row, and 50 of which no two have a slot of revisions in common, for the first time and again.
 * OpenZeppelin's have a URI of the same form, and each call replaces one.
 */
async function updateAll(
  ours: Awaited<ReturnType<typeof deployOurs>>,
  theirs: Awaited<ReturnType<typeof deployOpenZeppelin>>,
): Promise<Figure[]> {
  const { mint, update } = await ours.make({ dynamic: true })
  for (let batch = 0; batch < 4; batch++) await mint(toEach(200))
  // The first update of a collection writes a counter that later ones only change.
  await update([800n])
  const row50 = Array.from({ length: 50 }, (_, index) => BigInt(index + 1))
  const scattered = row50.map((id) => 100n + id * 13n)
  const set = async (ids: readonly bigint[]) => {
    const root = directory()
    let gas = 0
    for (const id of ids) gas += await theirs.call('setTokenURI', [id, `${root}/${id}.json`])
    return gas
  }
  // Replaces URIs of another length.
  await set(row50)
  const their = (await set(row50)) / 50
  return [
    row('first update of 50 consecutive tokens, per token', (await update(row50)) / 50, their, 0.1),
    row('later update of 50 consecutive tokens, per token', (await update(row50)) / 50, their, null),
    row('first update of 50 scattered tokens, per token', (await update(scattered)) / 50, their, 0.6),
    row('later update of 50 scattered tokens, per token', (await update(scattered)) / 50, their, 0.2),
  ]
}

/**
 * Transfers 50 tokens that were minted in one batch, in scattered order, to a new holder each.
 */
async function transferAll(node: DevNode, to: Hex, from: Hex): Promise<number> {
  let gas = 0
  for (let index = 0; index < 50; index++) {
    const tokenId = BigInt(FIRST_OF_FIFTY + ((index * 7) % 50))
    gas += await spend(node, { from, to, data: encodeTransfer({ from, to: random(20), tokenId }) })
  }
  return gas
}

async function deployOurs(node: DevNode) {
  const [admin, operator] = node.accounts
  if (admin === undefined || operator === undefined) throw new Error('the node has no accounts')
  const factory = factoryAddress(admin)
  const factoryGas = await spend(node, { from: admin, data: encodeDeployFactory([operator]) })
  const make = async (changes: Partial<CollectionInit> = {}) => {
    const init: CollectionInit = {
      requestId: random(32),
      name: 'My collection',
      symbol: 'MYC',
      owner: random(20),
      enableApi: true,
      enableTransfer: true,
      locked: false,
      dynamic: false,
      enableBurn: false,
      royaltyReceiver: zeroAddress,
      royaltyBps: 0n,
      maxSupply: 0n,
      ...changes,
    }
    const collectionGas = await spend(node, { from: operator, to: factory, data: encodeMake(init) })
    const address = predictCollection(factory, init)
    const send = (data: Hex) => spend(node, { from: operator, to: address, data })
    let next = 1n
    let sequence = 0
    const take = (count: number) => {
      const startId = next
      next += BigInt(count)
      return startId
    }
    return {
      ...{ address, collectionGas },
      mint: (groups: ReceiverGroup[]) => {
        const startId = take(groups.reduce((sum, group) => sum + group.count, 0))
        return send(encodeMint({ startId, groups, digest: random(32) }))
      },
      grant: (count: number) => {
        const receivers = Array.from({ length: count }, () => random(20))
        return send(encodeGrant({ startId: take(count), sender: random(20), receivers, digest: random(32) }))
      },
      update: (tokenIds: bigint[]) => {
        sequence += 1
        return send(encodeUpdate({ sequence, tokenIds, digest: random(32) }))
      },
    }
  }
  return { ...(await make()), factoryGas, make }
}

async function deployOpenZeppelin(node: DevNode) {
  const { call, ...contract } = await deploy(node, 'Baseline', ['My collection', 'MYC'])
  return {
    ...contract,
    call,
    mint: (receiver: Hex) => call('mint', [receiver, URI]),
    mintBatch: (receivers: Hex[]) => call('mintBatch', [receivers, receivers.map(() => URI)]),
  }
}

async function deployErc721a(node: DevNode) {
  const { call, ...contract } = await deploy(node, 'BaselineERC721A', ['My collection', 'MYC', `${URI}/`])
  return {
    ...contract,
    mint: (receiver: Hex, count: number) => call('mint', [receiver, count]),
    mintBatch: (receivers: Hex[]) => call('mintBatch', [receivers]),
  }
}

async function deploy(node: DevNode, name: Parameters<typeof compileBaseline>[0], args: readonly string[]) {
  const { abi, bytecode } = compileBaseline(name)
  const [from] = node.accounts
  if (from === undefined) throw new Error('the node has no accounts')
  const { contractAddress: to, gasUsed } = await node.send({ from, data: encodeDeployData({ abi, bytecode, args }) })
  if (to === null) throw new Error(`${name} was not deployed`)
  return {
    address: to,
    contractGas: Number(gasUsed),
    call: (functionName: string, values: readonly unknown[]) =>
      spend(node, { from, to, data: encodeFunctionData({ abi, functionName, args: values }) }),
  }
}

async function spend(node: DevNode, transaction: Parameters<DevNode['send']>[0]): Promise<number> {
  const { status, gasUsed, hash } = await node.send(transaction)
  if (status === 'reverted') throw new Error(`transaction ${hash} reverted`)
  return Number(gasUsed)
}

function toEach(count: number): ReceiverGroup[] {
  return Array.from({ length: count }, () => ({ receiver: random(20), count: 1 }))
}

function random(bytes: number): Hex {
  // No zero bytes, which are cheaper and would make two runs differ.
  return `0x${Buffer.from(randomBytes(bytes).map((byte) => byte | 1)).toString('hex')}`
}

function row(
  what: string,
  gas: number,
  baseline: number | null,
  atMost: number | null,
  against = 'OpenZeppelin',
): Figure {
  return {
    what,
    unit: 'gas',
    samples: [gas],
    ...(baseline === null ? {} : { against: { what: against, samples: [baseline] } }),
    ...(atMost === null ? {} : { budget: { atMost } }),
  }
}
