/** @module-tag slow */
import { createPublicKey, verify } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { base58btc } from 'multiformats/bases/base58'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { prepareSeal } from '../../../src/keystore/seal.ts'
import { openSolanaSigner } from '../../../src/server/chain/solana/open-signer.ts'
import { GENESIS_HASHES } from '../../../src/server/settings/solana-clusters.ts'
import { parsePrivateKey } from '../../../src/wallet/read-key.ts'
import { type ClusterPlace, clusterPlace, newKeypair } from '../../helpers/cluster-backend.ts'
import { PASSWORD, writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { startCluster, type TestCluster } from '../../helpers/solana-cluster.ts'
import { cli, errorOf } from '../harness.ts'

vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

let cluster: TestCluster
let place: ClusterPlace

beforeAll(async () => {
  cluster = await startCluster()
  place = await clusterPlace(cluster)
})
afterAll(async () => {
  await place?.remove()
  await cluster?.close()
})

const gdn = (...argv: string[]) => cli([...argv, '--data-dir', place.dataDir, '--json'])
const json = async (...argv: string[]) => {
  const { code, stdout, stderr } = await gdn(...argv)
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

describe('a Solana cluster on the command line', () => {
  test('chain list shows genesis hash, commitment, signer, and only the host of each node', async () => {
    await place.write({
      urls: [`${cluster.url}/secret-key`],
      more: { block_explorer_url: 'https://explorer.solana.com/' },
    })
    const { stdout } = await gdn('chain', 'list')
    expect(JSON.parse(stdout)[0]).toEqual({
      blockchain: 'solana',
      chain_id: null,
      ...{ currency: 'SOL', testnet: false, network: 'rpc', retired_since: null, successor: null, fee_model: null },
      genesis_hash: cluster.genesisHash,
      nodes: [new URL(cluster.url).host],
      confirmations: null,
      finality: null,
      commitment: 'finalized',
      operators: [join(place.dataDir, 'signer.json')],
      block_explorer_url: 'https://explorer.solana.com/',
    })
    expect(stdout).not.toContain('secret-key')
    await place.write()
  })

  test('chain setup --dry-run shows the cost of tokens and changes nothing; chain setup accepts the signer', async () => {
    const planned = await json('chain', 'setup', 'solana', '--dry-run')
    expect(planned).toMatchObject({
      status: 'planned',
      cluster: cluster.genesisHash,
      signer: place.signer,
      nfts_left: 0,
    })
    expect(Number(planned.cost_per_nft)).toBeGreaterThan(0.004)
    expect(Number(planned.cost_per_nft)).toBeLessThan(0.01)
    expect(Number(planned.cost_per_collection)).toBeGreaterThan(0.004)
    const before = await gdn('chain', 'status', 'solana')
    expect([before.code, JSON.parse(before.stdout)[0].problem]).toEqual([5, 'the cluster is not set up'])

    expect(await json('chain', 'setup', 'solana')).toMatchObject({ status: 'done', signer: place.signer })
    const poor = await gdn('chain', 'status', 'solana')
    expect([poor.code, JSON.parse(poor.stdout)[0].problem]).toEqual([
      5,
      `the signer ${place.signer} has 0 SOL on solana and needs ${planned.needed}: send ${planned.needed} SOL`,
    ])
    await cluster.fund(place.signer, 2_000_000_000n)
    const [status] = await json('chain', 'status', 'solana')
    expect(status).toMatchObject({ balance: '2', set_up: true, problem: null, signer: place.signer })
    expect(status.nfts_left).toBe(Math.floor(2 / Number(status.cost_per_nft)))
    expect(await json('chain', 'setup', 'solana', '--dry-run')).toMatchObject({ status: 'done' })
  })

  test("reports the error of a node in the node's words", async () => {
    const picky = await startRpcProxy(cluster.url, {
      batches: false,
      answer: ({ method }) =>
        method === 'getEpochInfo' ? { error: { code: -32052, message: 'not in your plan' } } : undefined,
    })
    try {
      await place.write({ urls: [picky.url] })
      const refused = await gdn('chain', 'status', 'solana')
      expect(refused.code).toBe(6)
      expect(errorOf(refused).message).toBe('a node of solana rejected the request: not in your plan (-32052)')
    } finally {
      await picky.close()
      await place.write()
    }
  })

  test('gdn doctor checks the nodes and the funds of the signer', async () => {
    const { stdout } = await gdn('doctor')
    const checks = JSON.parse(stdout) as { check: string; status: string; message: string }[]
    expect(checks.filter(({ check }) => check.startsWith('solana'))).toEqual([
      expect.objectContaining({
        check: 'solana node',
        status: 'ok',
        message: expect.stringMatching(/ ms, cluster .+, block \d+/),
      }),
      expect.objectContaining({
        check: 'solana signer',
        status: 'ok',
        message: expect.stringMatching(new RegExp(`^${place.signer} has 2 SOL, enough for \\d+ NFTs$`)),
      }),
    ])
  })

  test.each([
    ['--admin-keystore', 'admin.json'],
    ['--factory', '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811'],
  ])('rejects %s, because Solana has no factory', async (flag, value) => {
    const result = await gdn('chain', 'setup', 'solana', flag, value)
    expect([result.code, errorOf(result)]).toEqual([
      2,
      expect.objectContaining({ message: expect.stringContaining(flag) }),
    ])
  })

  test.each(['setup', 'status'])('chain %s fails if the nodes have another genesis hash', async (verb) => {
    await place.write({ more: { genesis_hash: GENESIS_HASHES['mainnet-beta'] } })
    const result = await gdn('chain', verb, 'solana')
    expect([result.code, errorOf(result).message]).toEqual([
      2,
      expect.stringMatching(/belongs to the cluster \w+, not mainnet-beta/),
    ])
    await place.write()
  })

  test('rejects a signer other than the one it was set up with, and names that one', async () => {
    const path = join(place.dataDir, 'other.json')
    await writeFile(path, JSON.stringify(newKeypair().bytes), { mode: 0o600 })
    await place.write({ more: { signer: { keypair_file: 'other.json' } } })
    const result = await gdn('chain', 'setup', 'solana')
    expect([result.code, errorOf(result).message]).toEqual([2, expect.stringContaining(place.signer)])
    await place.write()
  })

  test('accepts a keystore of the signer in place of its keypair file', async () => {
    const at = (name: string) => join(place.dataDir, name)
    const key = await parsePrivateKey(await readFile(at('signer.json'), 'utf8'), 'signer.json', { kind: 'solana' })
    const seal = await prepareSeal(new Secret(PASSWORD))
    await writeFile(at('payer.json'), seal.sealKeystore(key.privateKey, key.address), { mode: 0o600 })
    await writePassword(at('pw'))
    await place.write({ more: { signer: { keystore: 'payer.json', password_file: 'pw' } } })
    expect((await json('chain', 'status', 'solana'))[0]).toMatchObject({ signer: place.signer })
    expect((await json('chain', 'list'))[0]).toMatchObject({ operators: [at('payer.json')] })

    const signer = await openSolanaSigner({ keystore: at('payer.json'), password_file: at('pw') }, undefined)
    const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), base58btc.baseDecode(signer.address)])
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    expect(verify(null, Buffer.from('message'), publicKey, signer.sign(Buffer.from('message')))).toBe(true)
    await place.write()
  })

  test.each([
    [
      'an EVM keystore',
      { keystore: 'evm.json', password_file: 'pw' },
      'is an EVM wallet, but this is a Solana network',
    ],
    ['a wrong password', { keystore: 'payer.json', password_file: 'wrong' }, 'the password is wrong'],
    ['no password', { keystore: 'payer.json' }, 'needs either password_file or password_credential'],
    ['two kinds of signers', { keystore: 'a', password_file: 'pw', keypair_file: 'b' }, 'keypair_file'],
  ])('rejects %s', async (_what, signer, said) => {
    await writeKeystore(join(place.dataDir, 'evm.json'), generatePrivateKey())
    await writeFile(join(place.dataDir, 'wrong'), 'another password', { mode: 0o600 })
    await place.write({ more: { signer } })
    const result = await gdn('chain', 'status', 'solana')
    expect([result.code, errorOf(result).message]).toEqual([2, expect.stringContaining(said)])
    await place.write()
  })
})
