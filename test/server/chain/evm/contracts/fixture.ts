import { randomBytes } from 'node:crypto'
import { CID } from 'multiformats/cid'
import * as digests from 'multiformats/hashes/digest'
import {
  type ContractFunctionArgs,
  type ContractFunctionName,
  createPublicClient,
  custom,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  getAddress,
  getContract,
  hexToBytes,
  type Log,
  parseEventLogs,
} from 'viem'
import { encodeGrant, encodeMint, type ReceiverGroup } from '../../../../../src/server/chain/evm/collection.ts'
import { encodeUpdate, type UpdateCall } from '../../../../../src/server/chain/evm/collection-updates.ts'
import { gdnCollection, gdnFactory } from '../../../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import {
  type CollectionInit,
  encodeDeployFactory,
  encodeMake,
  factoryAddress,
  predictCollection,
} from '../../../../../src/server/chain/evm/factory.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { RpcError } from '../../../../../src/server/chain/rpc/rpc-response.ts'
import { type DevNode, type SentTransaction, startDevNode } from '../../../../helpers/evm-devnode.ts'
import { type RevertName, revertName } from './revert.ts'

const DAG_PB = 0x70
const SHA2_256 = 0x12

export const ZERO: Hex = '0x0000000000000000000000000000000000000000'

type Abi = typeof gdnCollection.abi
type Write = ContractFunctionName<Abi, 'nonpayable' | 'payable'>
type Arguments<Name extends Write> = ContractFunctionArgs<Abi, 'nonpayable' | 'payable', Name>

/** A successful transaction. */
export interface Done {
  gasUsed: bigint
  /** The events in log order, as `Transfer(from, to, 1)`. */
  events: string[]
}

export interface Chain {
  node: DevNode
  factory: Hex
  admin: Hex
  operator: Hex
  /** The owner of the collections. */
  owner: Hex
  alice: Hex
  bob: Hex
  carol: Hex
  stranger: Hex
  /** Sends a transaction, and fails the test if it reverts. */
  send(from: Hex, to: Hex, data: Hex): Promise<Done>
  /** The name of the error that a call reverts with, null if it succeeds. */
  revertOf(from: Hex, to: Hex, data: Hex, value?: bigint): Promise<RevertName | null>
  deploy(bytecode: Hex): Promise<Hex>
}

/** A node with a deployed factory and an authorized operator. */
export async function startChain(): Promise<Chain> {
  const node = await startDevNode()
  const [admin, operator, owner, alice, bob, carol, stranger] = node.accounts.map((account) => getAddress(account))
  if (!admin || !operator || !owner || !alice || !bob || !carol || !stranger) throw new Error('too few accounts')
  const send = async (from: Hex, to: Hex, data: Hex) => done(await node.send({ from, to, data }))
  const revertOf = async (from: Hex, to: Hex, data: Hex, value = 0n) => {
    try {
      await node.request('eth_call', [{ from, to, data, value: `0x${value.toString(16)}` }, 'latest'])
      return null
    } catch (error) {
      if (error instanceof RpcError && typeof error.data === 'string') return revertName(error.data as Hex)
      throw error
    }
  }
  const deploy = async (bytecode: Hex) => {
    const { contractAddress } = await node.send({ from: stranger, data: bytecode })
    if (contractAddress === null) throw new Error('nothing was deployed')
    return getAddress(contractAddress)
  }
  await node.send({ from: admin, data: encodeDeployFactory([operator]) })
  const people = { admin, operator, owner, alice, bob, carol, stranger }
  return { node, factory: factoryAddress(admin), ...people, send, revertOf, deploy }
}

/** The init arguments of a unique collection. */
export function anInit(owner: Hex, changes: Partial<CollectionInit> = {}): CollectionInit {
  return {
    requestId: random(32),
    name: 'Sunrise',
    symbol: 'SUN',
    owner,
    enableApi: true,
    enableTransfer: false,
    locked: false,
    dynamic: false,
    enableBurn: false,
    royaltyReceiver: ZERO,
    royaltyBps: 0n,
    maxSupply: 0n,
    ...changes,
  }
}

/** A new collection, with helpers for tests. */
export async function makeCollection(chain: Chain, changes: Partial<CollectionInit> = {}) {
  const init = anInit(chain.owner, changes)
  await chain.send(chain.operator, chain.factory, encodeMake(init))
  return collectionAt(chain, predictCollection(chain.factory, init))
}

export type Collection = ReturnType<typeof collectionAt>

export function collectionAt(chain: Chain, address: Hex) {
  const client = createPublicClient({
    transport: custom({ request: ({ method, params }) => chain.node.request(method, params ?? []) }, { retryCount: 0 }),
  })
  const { read } = getContract({ address, abi: gdnCollection.abi, client })

  const send = <Name extends Write>(from: Hex, name: Name, args: Arguments<Name>) =>
    chain.send(from, address, encodeCall(name, args))
  const revertOf = <Name extends Write>(from: Hex, name: Name, args: Arguments<Name>, value = 0n) =>
    chain.revertOf(from, address, encodeCall(name, args), value)

  /** Mints the next IDs as the operator. */
  const mint = async (groups: readonly ReceiverGroup[], digest = random(32), dynamic = false) => {
    const startId = await read.nextTokenId()
    return chain.send(chain.operator, address, encodeMint({ startId, groups, digest, dynamic }))
  }
  const mintRevert = (batch: Partial<Parameters<typeof encodeMint>[0]>, from = chain.operator) => {
    const data = encodeMint({
      startId: 1n,
      groups: [{ receiver: chain.alice, count: 1 }],
      digest: random(32),
      ...batch,
    })
    return chain.revertOf(from, address, data)
  }
  const grant = async (sender: Hex, receivers: readonly Hex[], digest = random(32)) => {
    const startId = await read.nextTokenId()
    return chain.send(chain.operator, address, encodeGrant({ startId, sender, receivers, digest }))
  }
  const grantRevert = (batch: Partial<Parameters<typeof encodeGrant>[0]> = {}, from = chain.operator) => {
    const usual = { startId: 1n, sender: chain.alice, receivers: [chain.bob], digest: random(32) }
    return chain.revertOf(from, address, encodeGrant({ ...usual, ...batch }))
  }
  /** Updates tokens as the operator, with the next sequence unless another is given. */
  const updateData = async (tokenIds: readonly bigint[], changes: Partial<UpdateCall> = {}) => {
    const { updateCount } = await read.lifecycle()
    return encodeUpdate({ sequence: updateCount + 1, tokenIds, digest: random(32), ...changes })
  }
  const update = async (tokenIds: readonly bigint[], changes: Partial<UpdateCall> = {}) =>
    chain.send(chain.operator, address, await updateData(tokenIds, changes))
  const updateRevert = async (tokenIds: readonly bigint[], changes: Partial<UpdateCall> = {}, from = chain.operator) =>
    chain.revertOf(from, address, await updateData(tokenIds, changes))
  return { address, read, send, revertOf, mint, mintRevert, grant, grantRevert, update, updateRevert }
}

/** Call data of any function of a collection that writes. */
export function encodeCall<Name extends Write>(functionName: Name, args: Arguments<Name>): Hex {
  // viem checks the arguments of a fixed function name; here the name is a variable.
  const call = { abi: gdnCollection.abi, functionName, args } as unknown as EncodeFunctionDataParameters
  return encodeFunctionData(call)
}

function done(transaction: SentTransaction): Done {
  if (transaction.status === 'reverted') throw new Error(`transaction ${transaction.hash} reverted`)
  const logs = transaction.logs as unknown as Log[]
  const events = parseEventLogs({ abi: [...gdnCollection.abi, ...gdnFactory.abi], logs })
  return {
    gasUsed: transaction.gasUsed,
    events: events.map((event) => `${event.eventName}(${Object.values(event.args ?? {}).join(', ')})`),
  }
}

/** The CID of a directory as the IPFS libraries format it. */
export function cidOf(digest: Hex): string {
  return CID.createV1(DAG_PB, digests.create(SHA2_256, hexToBytes(digest))).toString()
}

export function random(bytes: number): Hex {
  return `0x${randomBytes(bytes).toString('hex')}`
}
