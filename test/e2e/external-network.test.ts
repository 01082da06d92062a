import { createPublicClient, createWalletClient, encodeFunctionData, getAddress, http, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ShownAttempt, ShownTransaction } from '../../src/server/admin/transactions.ts'
import { OWNER } from '../helpers/addresses.ts'
import { until } from '../helpers/backend.ts'
import {
  CONFIRMATIONS,
  type ExternalNetwork,
  type ExternalNetworks,
  startExternalNetworks,
} from '../helpers/external-networks.ts'
import { gdnAt, type Run } from '../helpers/gdn-at.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const isLong = process.env.GDN_SOAK === '1'
const BLOCK_SECONDS = isLong ? 2 : 0.4
const BATCH_ROWS = isLong ? 2000 : 40
/** Minimum rounds of single mints, grants and transfers during the batch, so that all network conditions occur. */
const ROUNDS = isLong ? 40 : 1
const STUCK_SECONDS = 2 * BLOCK_SECONDS
const PATIENCE_MS = isLong ? 600_000 : 60_000

const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const ABI = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
  'function transferFrom(address, address, uint256)',
])

interface Nft {
  nft_gdn_id: string
  status: string
  token_id: string | null
  metadata_url: string | null
  receiver_wallet_address: string
}

let nets: ExternalNetworks
let backend: ServedBackend | null = null
const collections: { of: ExternalNetwork; address: string; minted: number }[] = []
const moved = new Map<string, string>()
const since = performance.now()

const { random } = seededRandom('external network')
const both = () => [nets.modern, nets.legacy]
const gdn = () => gdnAt({ url: backend?.url ?? '', apiKey: backend?.apiKey ?? '' }, nets.folder)
const admin = <Result>(...argv: string[]) => nets.bare.json<Result>(...argv, '--data-dir', nets.dataDir)
const transactions = (of: ExternalNetwork, ...flags: string[]) =>
  admin<ShownTransaction[]>('tx', 'list', '-b', of.blockchain, '--limit', '100000', ...flags)
const attemptsOf = async ({ id }: ShownTransaction) =>
  (await admin<{ attempts: ShownAttempt[] }>('tx', 'show', id)).attempts
const nftsOf = ({ of, address }: (typeof collections)[number]) =>
  gdn().json<Nft[]>('nft', 'list', '-c', address, '-b', of.blockchain)

async function makeCollection(of: ExternalNetwork, name: string) {
  const made = await gdn().json<{ contract_address: string }>(
    ...['collection', 'create', '--name', name, '-b', of.blockchain, '--wallet', OWNER, '--enable-transfer'],
  )
  const collection = { of, address: made.contract_address, minted: 0 }
  collections.push(collection)
  return collection
}

async function mintOne(collection: (typeof collections)[number], ...flags: string[]) {
  collection.minted += 1
  return await gdn().json<Nft>(
    ...['nft', 'mint', '-c', collection.address, '-b', collection.of.blockchain],
    ...[
      '--title',
      `Piece ${collection.minted}`,
      ...(flags.includes('--receiver') ? [] : ['--receiver', OWNER]),
      ...flags,
    ],
  )
}

/** Transfers an NFT. A reorg may revert a deployed NFT: the transfer is rejected then, and retried here. */
async function transfer(of: ExternalNetwork, id: string) {
  const isUndone = ({ exitCode, stderr }: Run) =>
    (exitCode === 5 || exitCode === 8) && /is not deployed yet/.test(stderr)
  const { exitCode, stderr } = await until(
    async () => {
      await gdn().json('nft', 'wait', id)
      return gdn().run('nft', 'transfer', id, '--receiver', OTHER, '-b', of.blockchain, '--json')
    },
    (outcome) => !isUndone(outcome),
    PATIENCE_MS,
  )
  expect(exitCode, stderr).toBe(0)
}

beforeAll(async () => {
  nets = await startExternalNetworks({ blockSeconds: BLOCK_SECONDS, random })
})
afterAll(async () => {
  await backend?.end('SIGKILL')
  await nets?.close()
})

test(
  'sets up networks by URL during reorgs, drops and fee jumps, one with a base fee and one without',
  async () => {
    await nets.settings({ stuckSeconds: STUCK_SECONDS, signers: 1 })
    await Promise.all(
      both().map(async (of) => {
        for (const account of [of.admin, ...of.operators]) await of.fund(account, 1000)
        const planned = await nets.bare.json(...nets.setup(of, '--dry-run'))
        expect(planned).toMatchObject({ status: 'planned', chain_id: of.chainId })
        const done = await nets.bare.json(...nets.setup(of, '--yes'))
        expect(done).toMatchObject({ status: 'done', operators: of.operators.slice(0, 1) })
      }),
    )
    await nets.settings({ stuckSeconds: STUCK_SECONDS })
    await Promise.all(
      both().map(async (of) => {
        const added = await nets.bare.json(...nets.setup(of, '--yes'))
        expect(added).toMatchObject({ status: 'done', to_appoint: of.operators.slice(1) })
        const status = () => admin<{ problem: string | null }[]>('chain', 'status', of.blockchain)
        const told = await until(status, (signers) => signers.every(({ problem }) => problem === null), PATIENCE_MS)
        expect(told.map(({ problem }) => problem)).toEqual([null, null])
      }),
    )
  },
  PATIENCE_MS,
)

test(
  'collections, a batch, mints, grants and transfers complete during reorgs, drops and fee jumps',
  async () => {
    backend = await serve(nets.dataDir, ['--rate-limits', 'off']).ready
    const work = async (of: ExternalNetwork) => {
      const [drop, shop] = await Promise.all([makeCollection(of, 'Drop'), makeCollection(of, 'Shop')])
      const rows = Array.from({ length: BATCH_ROWS }, (_, row) => `Row ${row},One of many,${row % 3 ? OWNER : OTHER}`)
      const csv = await gdn().file(`${of.blockchain}.csv`, `title,description,receiver\n${rows.join('\n')}\n`)
      const batch = gdn().run('batch', 'mint', csv, '-c', drop.address, '-b', of.blockchain, '--rate', '10', '--json')
      drop.minted += BATCH_ROWS
      const rounds = async () => {
        for (let round = 0; round < ROUNDS || !of.conditions.hasShownAll(); round++) {
          shop.minted += 1
          const [minted] = await Promise.all([
            mintOne(shop),
            gdn().json<Nft>(
              ...['nft', 'grant', '-c', shop.address, '-b', of.blockchain, '--title', `Gift ${round}`],
              ...['--sender', OWNER, '--receiver', OTHER],
            ),
          ])
          await transfer(of, minted.nft_gdn_id)
          moved.set(minted.nft_gdn_id, OTHER)
        }
      }
      const [outcome] = await Promise.all([batch, rounds()])
      expect(outcome.exitCode, outcome.stderr).toBe(0)
    }
    await Promise.all(both().map(work))
  },
  10 * PATIENCE_MS,
)

test(
  'an operator bumps a stuck transaction and cancels another, whose NFT fails with that reason',
  async () => {
    await Promise.all(both().map(({ conditions }) => conditions.settle()))
    await backend?.end('SIGTERM')
    // Bumps are only manual.
    await nets.settings({ stuckSeconds: 3600 })
    backend = await serve(nets.dataDir, ['--rate-limits', 'off']).ready
    const asked = async (of: ExternalNetwork, what: 'bump' | 'cancel') => {
      const shop = collections.findLast((one) => one.of === of)
      if (shop === undefined) throw new Error('no collection')
      await until(
        () => transactions(of, '--state', 'signed'),
        (rows) => rows.length === 0,
        PATIENCE_MS,
      )
      await of.halt()
      const { nft_gdn_id: id } = await mintOne(shop, '--no-wait')
      const [stuck] = await until(
        () => transactions(of, '--state', 'signed'),
        (rows) => rows.length === 1,
        PATIENCE_MS,
      )
      if (stuck === undefined) throw new Error('it was not signed')
      // Like nodes that drop transactions whose fee is too low.
      const offered = await of.network.call<{ maxFeePerGas?: string; gasPrice: string }>('eth_getTransactionByHash', [
        stuck.hash,
      ])
      await of.conditions.hold(2 * (Number(offered.maxFeePerGas ?? offered.gasPrice) / 1e9))
      for (const hash of await of.network.pool()) await of.network.call('anvil_dropTransaction', [hash])
      await of.resume()
      const height = Number(await of.network.call('eth_blockNumber'))
      await until(
        async () => Number(await of.network.call('eth_blockNumber')),
        (now) => now >= height + 2,
        PATIENCE_MS,
      )
      expect(await gdn().json('nft', 'show', id)).toMatchObject({ status: 'initiated' })
      await admin('tx', what, stuck.id, '--yes')
      const ended = await until(
        () => gdn().json<Nft>('nft', 'show', id),
        (nft) => nft.status !== 'initiated',
        PATIENCE_MS,
      )
      await of.conditions.hold(null)
      const shown = await admin<ShownTransaction>('tx', 'show', stuck.id)
      expect({ nonce: shown.nonce, same: shown.hash === stuck.hash }).toEqual({ nonce: stuck.nonce, same: false })
      expect(await attemptsOf(stuck)).toHaveLength(2)
      if (what === 'bump') return expect(ended).toMatchObject({ status: 'deployed' })
      shop.minted -= 1
      expect(shown.state).toBe('cancelled')
      expect(ended).toMatchObject({ status: 'failed', token_id: null })
    }
    await Promise.all(
      both().map(async (of) => {
        await asked(of, 'bump')
        await asked(of, 'cancel')
      }),
    )
  },
  4 * PATIENCE_MS,
)

test(
  'shows the new owner after a holder transfers an NFT with another wallet',
  async () => {
    await Promise.all(
      both().map(async (of) => {
        const shop = collections.findLast((one) => one.of === of)
        if (shop === undefined) throw new Error('no collection')
        const holder = privateKeyToAccount(generatePrivateKey())
        await of.fund(holder.address, 10)
        const nft = await mintOne(shop, '--receiver', holder.address)
        const client = createWalletClient({ account: holder, transport: http(of.network.url) })
        const call = { abi: ABI, functionName: 'transferFrom' } as const
        const gasPrice = BigInt(await of.network.call<string>('eth_gasPrice')) * 2n
        await client.sendTransaction({
          ...{ chain: null, type: 'legacy', gas: 200_000n, gasPrice, to: getAddress(shop.address) },
          data: encodeFunctionData({ ...call, args: [holder.address, OTHER, BigInt(String(nft.token_id))] }),
        })
        const shown = await until(
          () => gdn().json<Nft>('nft', 'show', nft.nft_gdn_id),
          ({ receiver_wallet_address: owner }) => owner === OTHER,
          PATIENCE_MS,
        )
        expect(shown.receiver_wallet_address).toBe(OTHER)
        moved.set(nft.nft_gdn_id, OTHER)
      }),
    )
  },
  2 * PATIENCE_MS,
)

test(
  'NFTs of reverted blocks become pending, and are deployed again by the same transaction',
  async () => {
    await Promise.all(
      both().map(async (of) => {
        const shop = collections.findLast((one) => one.of === of)
        if (shop === undefined) throw new Error('no collection')
        await of.halt()
        const { nft_gdn_id: id } = await mintOne(shop, '--no-wait')
        const untilShown = (status: string) =>
          until(
            () => gdn().json<Nft>('nft', 'show', id),
            (nft) => nft.status === status,
            PATIENCE_MS,
          )
        await until(
          () => of.network.pool(),
          (pool) => pool.length > 0,
          PATIENCE_MS,
        )
        const [before] = await transactions(of)
        await of.network.mine(CONFIRMATIONS)
        expect(await untilShown('deployed')).toMatchObject({ status: 'deployed' })
        await of.network.reorg(CONFIRMATIONS)
        expect(await untilShown('initiated')).toMatchObject({ status: 'initiated', token_id: null })
        await of.resume()
        await gdn().json('nft', 'wait', id)
        const [after] = await transactions(of)
        expect(after).toMatchObject({ id: before?.id, hash: before?.hash, nonce: before?.nonce })
      }),
    )
  },
  2 * PATIENCE_MS,
)

test(
  'at the end each NFT exists once, no nonce is missing, and nothing is pending',
  async () => {
    for (const of of both()) {
      await until(
        () => transactions(of, '--state', 'signed'),
        (rows) => rows.length === 0,
        PATIENCE_MS,
      )
      const client = createPublicClient({ transport: http(of.network.url) })
      const all = await transactions(of)
      for (const signer of of.operators) {
        const nonces = all.filter((row) => row.signer === signer).map(({ nonce }) => nonce)
        expect(nonces.sort((a, b) => a - b)).toEqual(nonces.map((_, index) => index))
        expect(await client.getTransactionCount({ address: signer })).toBe(nonces.length)
      }
      for (const collection of collections.filter((one) => one.of === of)) {
        const contract = { address: getAddress(collection.address), abi: ABI }
        const nfts = (await nftsOf(collection)).filter(({ status }) => status !== 'failed')
        expect(new Set(nfts.map(({ status }) => status))).toEqual(new Set(['deployed']))
        expect(nfts).toHaveLength(collection.minted)
        expect(await client.readContract({ ...contract, functionName: 'totalSupply' })).toBe(BigInt(nfts.length))
        expect(new Set(nfts.map(({ token_id }) => token_id)).size).toBe(nfts.length)
        for (const nft of nfts) {
          const args = [BigInt(String(nft.token_id))] as const
          expect(await client.readContract({ ...contract, functionName: 'tokenURI', args })).toBe(nft.metadata_url)
          const owner = await client.readContract({ ...contract, functionName: 'ownerOf', args })
          expect(nft.receiver_wallet_address).toBe(owner)
          expect(owner).toBe(moved.get(nft.nft_gdn_id) ?? owner)
        }
      }
      const attempts = (await Promise.all(all.filter((_, index) => index < 200).map(attemptsOf))).map((of) => of.length)
      const bumps = attempts.reduce((sum, count) => sum + Math.max(0, count - 1), 0)
      report({
        network: of.blockchain,
        seconds: Math.round((performance.now() - since) / 1000),
        blocks: Number(await client.getBlockNumber()),
        nfts: collections.filter((one) => one.of === of).reduce((sum, { minted }) => sum + minted, 0),
        transactions: all.length,
        bumps,
        ...of.conditions.figures,
        underpriced: of.endpoint.underpriced,
        batchesTooLong: of.endpoint.tooLong,
      })
      expect(of.conditions.hasShownAll()).toBe(true)
      expect(bumps).toBeGreaterThan(0)
    }
    expect(await backend?.end('SIGTERM')).toBe(0)
  },
  4 * PATIENCE_MS,
)
