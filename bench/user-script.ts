import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Abi, createPublicClient, createWalletClient, type Hex, http, type PublicClient, zeroAddress } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { encodeMint } from '../src/server/chain/evm/collection.ts'
import { gdnCollection } from '../src/server/chain/evm/contracts/generated/artifacts.ts'
import {
  type CollectionInit,
  encodeDeployFactory,
  encodeMake,
  factoryAddress,
  predictCollection,
} from '../src/server/chain/evm/factory.ts'
import { WALLET, withFolder } from './backend.ts'
import { compileBaseline } from './baseline.ts'
import { startPlainAnvil } from './processes.ts'

/** The default mnemonic of anvil. */
const ANVIL_MNEMONIC = 'test test test test test test test test test test test junk'
const POLL_MS = 5
const LOST_AFTER_MS = 5000
/** More than a mint needs, so that viem doesn't estimate it. */
const MINT_GAS = 300_000n
const IN_FLIGHT = 16
const BATCH = 50
const READY_BATCH = 200

/** Images that the NFTs share, or the URL of an image for each NFT. */
export type Images = readonly Uint8Array[] | ((index: number) => string)

/** What a user would write without gdn, with viem. */
export interface Script {
  what: string
  /** Runs it on a fresh anvil, checks the tokens on chain, and returns NFTs per second without the deployment. */
  time(images: Images): Promise<number>
}

export const ONE_AT_A_TIME: Script = {
  what: 'script, one at a time',
  time: (images) =>
    timeOpenZeppelin(300, images, async ({ count, save, send }) => {
      for (let index = 0; index < count; index++) await send('mint', [WALLET, await save(index)])
    }),
}

export const PIPELINED: Script = {
  what: `script, own nonces, ${IN_FLIGHT} in flight`,
  time: (images) =>
    timeOpenZeppelin(800, images, async ({ count, save, send, firstNonce }) => {
      let next = 0
      let nonce = firstNonce
      const sender = async () => {
        while (next < count) {
          const uri = await save(next++)
          await send('mint', [WALLET, uri], nonce++)
        }
      }
      await inParallel(sender)
    }),
}

export const BATCHED: Script = {
  what: `script, sequential mintBatch(${BATCH})`,
  time: (images) =>
    timeOpenZeppelin(2000, images, async ({ count, save, send }) => {
      for (let from = 0; from < count; from += BATCH) {
        const uris = await Promise.all(Array.from({ length: BATCH }, (_, index) => save(from + index)))
        await send('mintBatch', [uris.map(() => WALLET), uris])
      }
    }),
}

/** Batches of gdn's own contract, signed before the clock starts and without files: the limit of the node. */
export const READY: Script = {
  what: `script, presigned batches of ${READY_BATCH}`,
  time: () => timeReadyBatches(40_000),
}

interface Tools {
  count: number
  /** Writes the metadata file of an NFT, and its image if it isn't shared. Returns the URI of the metadata. */
  save(index: number): Promise<string>
  /** Sends a transaction and waits for its receipt. Without a nonce, viem asks the node for the next one. */
  send(functionName: string, args: readonly unknown[], nonce?: number): Promise<void>
  firstNonce: number
}

/** The contract stores a URI for each token. */
function timeOpenZeppelin(count: number, images: Images, run: (tools: Tools) => Promise<void>): Promise<number> {
  return withAnvil((url) =>
    withFolder(async (folder) => {
      const { wallet, chain } = connect(url)
      const { abi, bytecode } = compileBaseline('Baseline')
      const deployment = await wallet.deployContract({ abi, bytecode, args: ['Bench', 'BEN'] })
      const address = (await receiptOf(chain, deployment)).contractAddress
      if (!address) throw new Error('the contract was not deployed')

      const since = performance.now()
      const image = await saveImages(folder, images)
      const save = async (index: number) => {
        const metadata = { name: `Number ${index}`, description: 'One of many, created for a benchmark.' }
        return saveFile(folder, Buffer.from(JSON.stringify({ ...metadata, image: await image(index) })))
      }
      let before: Promise<unknown> = Promise.resolve()
      const send: Tools['send'] = async (functionName, args, nonce) => {
        if (nonce === undefined) {
          await receiptOf(chain, await wallet.writeContract({ address, abi, functionName, args }))
          return
        }
        // One after another: anvil may never mine a transaction that arrives before the one with the nonce before.
        const sent = before.then(() => wallet.writeContract({ address, abi, functionName, args, nonce, gas: MINT_GAS }))
        before = sent
        await receiptOf(chain, await sent)
      }
      await run({ count, save, send, firstNonce: 1 })
      const seconds = (performance.now() - since) / 1000
      await checkTokens(url, address, abi, count)
      return count / seconds
    }),
  )
}

function timeReadyBatches(count: number): Promise<number> {
  return withAnvil(async (url) => {
    const { wallet, chain } = connect(url)
    const operator = connect(url, 1).wallet
    const factory = factoryAddress(wallet.account.address)
    const requestId: Hex = `0x${'1'.repeat(64)}`
    const flags = { enableApi: true, enableTransfer: true, locked: false, dynamic: false, enableBurn: false }
    const options = { ...flags, royaltyReceiver: zeroAddress, royaltyBps: 0n, maxSupply: 0n }
    const init: CollectionInit = { requestId, name: 'Bench', symbol: 'BEN', owner: WALLET, ...options }
    const deployment = await wallet.sendTransaction({ data: encodeDeployFactory([operator.account.address]) })
    await receiptOf(chain, deployment)
    const make = await operator.sendTransaction({ to: factory, data: encodeMake(init) })
    await receiptOf(chain, make)
    const address = predictCollection(factory, init)
    const signed: Hex[] = []
    for (let startId = 1n; startId <= count; startId += BigInt(READY_BATCH)) {
      const data = encodeMint({ startId, groups: [{ receiver: WALLET, count: READY_BATCH }], digest: requestId })
      const fees = { gas: 5_000_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n }
      const facts = { type: 'eip1559', chainId: foundry.id, nonce: 1 + signed.length } as const
      signed.push(await operator.account.signTransaction({ ...facts, ...fees, to: address, data }))
    }

    const since = performance.now()
    const left = signed.values()
    const sender = async () => {
      for (const serializedTransaction of left) {
        const hash = await operator.sendRawTransaction({ serializedTransaction })
        await receiptOf(chain, hash)
      }
    }
    await inParallel(sender)
    const seconds = (performance.now() - since) / 1000
    await checkTokens(url, address, gdnCollection.abi, count)
    return count / seconds
  })
}

/** Runs senders until all have ended, so that none writes to a folder that is being removed. Throws the first error. */
async function inParallel(sender: () => Promise<void>): Promise<void> {
  const ended = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, sender))
  const failed = ended.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function withAnvil<Result>(work: (url: string) => Promise<Result>): Promise<Result> {
  const anvil = await startPlainAnvil()
  try {
    return await work(anvil.url)
  } finally {
    await anvil.end()
  }
}

function connect(url: string, addressIndex = 0) {
  const account = mnemonicToAccount(ANVIL_MNEMONIC, { addressIndex })
  const options = { chain: foundry, transport: http(url) }
  return { wallet: createWalletClient({ account, ...options }), chain: createPublicClient(options) }
}

/** Polls for a receipt. */
async function receiptOf({ request }: PublicClient, hash: Hex) {
  const lostAt = performance.now() + LOST_AFTER_MS
  while (performance.now() < lostAt) {
    const receipt = await request({ method: 'eth_getTransactionReceipt', params: [hash] })
    if (receipt?.status === '0x1') return receipt
    if (receipt !== null) throw new Error(`transaction ${hash} reverted`)
    await sleep(POLL_MS)
  }
  throw new Error(`transaction ${hash} was not mined`)
}

/** Saves shared images at once, and others when needed. Returns a function to the URI of an NFT's image. */
async function saveImages(folder: string, images: Images): Promise<(index: number) => Promise<string> | string> {
  if (typeof images === 'function') {
    return async (index) => saveFile(folder, new Uint8Array(await (await fetch(images(index))).arrayBuffer()))
  }
  const uris = await Promise.all(images.map((image) => saveFile(folder, image)))
  return (index) => uris[index % uris.length] ?? ''
}

async function saveFile(folder: string, content: Uint8Array): Promise<string> {
  const name = createHash('sha256').update(content).digest('hex')
  await writeFile(join(folder, name), content)
  return `ipfs://${name}`
}

/** Throws unless the receiver has this many tokens, the last one included. */
async function checkTokens(url: string, address: Hex, abi: Abi, count: number): Promise<void> {
  const { chain } = connect(url)
  const read = (functionName: string, args: readonly unknown[]) =>
    chain.readContract({ address, abi, functionName, args })
  const found = await read('balanceOf', [WALLET])
  const owner = await read('ownerOf', [count])
  if (found !== BigInt(count) || owner !== WALLET) throw new Error(`${found} of ${count} tokens were minted`)
}
