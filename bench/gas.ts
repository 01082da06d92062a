import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Abi, encodeDeployData, encodeFunctionData } from 'viem'
import { compileSolidity } from '../src/build/contracts.mjs'
import { encodeGrant, encodeMint, type MintRun } from '../src/server/chain/evm/collection.ts'
import {
  type CollectionInit,
  encodeDeployFactory,
  encodeMake,
  factoryAddress,
  predictCollection,
} from '../src/server/chain/evm/factory.ts'
import type { Hex } from '../src/server/chain/evm/network.ts'
import { type DevNode, startDevNode } from '../test/helpers/evm-devnode.ts'
import type { Figure } from './figures.ts'

// As long as the URI of a file with its own CID, which this contract needs for each token.
const URI = 'ipfs://bafkreidckq4slwf6wpcevf3oyvzy73hweo5j56gtsu6rtb25a5dktclloi'

/** Gas per token on a fresh chain, compared with OpenZeppelin in the same run. */
export async function measure(): Promise<Figure[]> {
  const node = await startDevNode()
  try {
    return await mintBoth(node)
  } finally {
    await node.stop()
  }
}

async function mintBoth(node: DevNode): Promise<Figure[]> {
  const ours = await deployOurs(node)
  const theirs = await deployBaseline(node)
  // The first mint of a contract writes slots that later ones only change.
  await ours.mint(toEach(1))
  await theirs.mint(random(20))

  const single = await ours.mint(toEach(1))
  const toOne = await ours.mint([{ receiver: random(20), count: 50 }])
  const toFifty = await ours.mint(toEach(50))
  const granted = await ours.grant(50)
  const toTwoHundred = await ours.mint(toEach(200))
  const theirSingle = await theirs.mint(random(20))
  const sameReceiver = random(20)
  const theirToOne = await theirs.mintBatch(Array.from({ length: 50 }, () => sameReceiver))
  const theirToFifty = await theirs.mintBatch(Array.from({ length: 50 }, () => random(20)))
  const theirToTwoHundred = await theirs.mintBatch(Array.from({ length: 200 }, () => random(20)))

  return [
    row('single, per token', single, theirSingle, 0.7),
    row('50 to one receiver, per token', toOne / 50, theirToOne / 50, 0.06),
    row('50 to 50 receivers, per token', toFifty / 50, theirToFifty / 50, 0.36),
    row('createnfttrans of 50, per token', granted / 50, null, null),
    row('200 to 200 receivers, per token', toTwoHundred / 200, theirToTwoHundred / 200, null),
    row('a collection', ours.collectionGas, theirs.contractGas, null),
    row('the factory, once', ours.factoryGas, null, null),
  ]
}

async function deployOurs(node: DevNode) {
  const [admin, operator] = node.accounts
  if (admin === undefined || operator === undefined) throw new Error('the node has no accounts')
  const factory = factoryAddress(admin)
  const factoryGas = await spend(node, { from: admin, data: encodeDeployFactory([operator]) })
  const init: CollectionInit = {
    requestId: random(32),
    name: 'My collection',
    symbol: 'MYC',
    owner: random(20),
    enableApi: true,
    enableTransfer: true,
    locked: false,
  }
  const collectionGas = await spend(node, { from: operator, to: factory, data: encodeMake(init) })
  const collection = predictCollection(factory, init)
  let next = 1n
  const take = (count: number) => {
    const startId = next
    next += BigInt(count)
    return startId
  }
  return {
    factoryGas,
    collectionGas,
    mint: (runs: MintRun[]) => {
      const startId = take(runs.reduce((sum, run) => sum + run.count, 0))
      return spend(node, { from: operator, to: collection, data: encodeMint({ startId, runs, digest: random(32) }) })
    },
    grant: (count: number) => {
      const receivers = Array.from({ length: count }, () => random(20))
      const data = encodeGrant({ startId: take(count), sender: random(20), receivers, digest: random(32) })
      return spend(node, { from: operator, to: collection, data })
    },
  }
}

async function deployBaseline(node: DevNode) {
  const source = readFileSync('bench/contracts/Baseline.sol', 'utf8')
  const { Baseline } = compileSolidity({ 'Baseline.sol': source })
  const [from] = node.accounts
  if (Baseline === undefined || from === undefined) throw new Error('the baseline contract is missing')
  const abi = Baseline.abi as Abi
  const data = encodeDeployData({ abi, bytecode: Baseline.bytecode, args: ['My collection', 'MYC'] })
  const deployed = await node.send({ from, data })
  if (deployed.contractAddress === null) throw new Error('the baseline was not deployed')
  const to = deployed.contractAddress
  return {
    contractGas: Number(deployed.gasUsed),
    mint: (receiver: Hex) =>
      spend(node, { from, to, data: encodeFunctionData({ abi, functionName: 'mint', args: [receiver, URI] }) }),
    mintBatch: (receivers: Hex[]) => {
      const args = [receivers, receivers.map(() => URI)]
      return spend(node, { from, to, data: encodeFunctionData({ abi, functionName: 'mintBatch', args }) })
    },
  }
}

async function spend(node: DevNode, transaction: Parameters<DevNode['send']>[0]): Promise<number> {
  const { status, gasUsed, hash } = await node.send(transaction)
  if (status === 'reverted') throw new Error(`transaction ${hash} reverted`)
  return Number(gasUsed)
}

function toEach(count: number): MintRun[] {
  return Array.from({ length: count }, () => ({ receiver: random(20), count: 1 }))
}

function random(bytes: number): Hex {
  // No zero bytes, which are cheaper and would make two runs differ.
  return `0x${Buffer.from(randomBytes(bytes).map((byte) => byte | 1)).toString('hex')}`
}

function row(what: string, gas: number, baseline: number | null, atMost: number | null): Figure {
  return {
    what,
    unit: 'gas',
    samples: [gas],
    ...(baseline === null ? {} : { against: { what: 'OpenZeppelin', samples: [baseline] } }),
    ...(atMost === null ? {} : { budget: { atMost } }),
  }
}
