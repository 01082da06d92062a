/** @module-tag slow */
/** @module-tag slow */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importBytes } from 'ipfs-unixfs-importer'
import { CID } from 'multiformats/cid'
import { createPublicClient, http, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshDataDir } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { startHttpFaultProxy } from '../helpers/http-fault-proxy.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const RECEIVER = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function owner() view returns (address)',
  'function name() view returns (string)',
  'function tokenURI(uint256) view returns (string)',
  'function totalSupply() view returns (uint256)',
])

interface Nft {
  nft_gdn_id: string
  token_id: string
  receiver_wallet_address: string
  metadata_url: string
  status: string
  contract_address: string
}

interface ExampleRow {
  [column: string]: string
}

/** The CID that `ipfs add --cid-version=1` computes for these bytes, without code of gdn. */
async function cidOf(bytes: Uint8Array): Promise<string> {
  const nowhere = { put: async (cid: CID) => cid }
  const { cid } = await importBytes(bytes, nowhere, { profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true })
  return cid.toString()
}

describe('from a manifest on disk to NFTs on a chain, with the built gdn', () => {
  let dataDir: Awaited<ReturnType<typeof freshDataDir>>
  let home: Awaited<ReturnType<typeof freshDataDir>>
  let backend: ServedBackend
  let gdn: ReturnType<typeof gdnAt>
  let contract: `0x${string}`
  let minted: Nft
  let listed: Nft[]

  beforeAll(async () => {
    dataDir = await freshDataDir()
    home = await freshDataDir()
    backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
    gdn = gdnAt(backend, home.path)
  })

  afterAll(async () => {
    expect(await backend.end('SIGTERM')).toBe(0)
    await Promise.all([dataDir.remove(), home.remove()])
  })

  const onChain = () => {
    const client = createPublicClient({ transport: http(`${backend.url}/rpc/polygon`) })
    return <Name extends 'ownerOf' | 'owner' | 'name' | 'tokenURI' | 'totalSupply'>(
      functionName: Name,
      tokenId?: string,
    ) =>
      client.readContract({
        address: contract,
        abi: ABI,
        functionName,
        args: (tokenId === undefined ? [] : [BigInt(tokenId)]) as never,
      })
  }
  const fetchIpfs = async (path: string) =>
    new Uint8Array(await (await fetch(`${backend.url}/ipfs/${path.replace('ipfs://', '')}`)).arrayBuffer())

  it('collection create waits until the collection is deployed, and prints its address', {
    tags: ['promise', 'needed'],
  }, async () => {
    const created = await gdn.json<Nft & { name: string }>(
      'collection',
      'create',
      '--name',
      'Tidal',
      '--wallet',
      WALLET,
    )
    expect(created).toMatchObject({ name: 'Tidal', blockchain: 'polygon', status: 'deployed', wallet_address: WALLET })
    contract = created.contract_address as `0x${string}`
    const read = onChain()
    expect([await read('owner'), await read('name')]).toEqual([WALLET, 'Tidal'])
  })

  it('nft mint accepts flags, uploads a local picture and waits until the NFT is deployed', {
    tags: ['promise', 'needed'],
  }, async () => {
    const image = join(EXAMPLES, 'media', '03-clockwork.svg')
    const answer = await gdn.json<Nft | Nft[]>(
      ...['nft', 'mint', '-c', contract, '--receiver', RECEIVER, '--title', 'By hand', '--description', 'One of one'],
      ...['--media', `image=${image}`, '--extra', 'artist=me', '--attr', 'color=blue'],
    )
    minted = Array.isArray(answer) ? (answer[0] as Nft) : answer
    expect(minted).toMatchObject({ status: 'deployed', token_id: '1', receiver_wallet_address: RECEIVER })
  })

  it('batch mint mints every row of a CSV manifest', { tags: ['promise', 'needed'] }, async () => {
    const { exitCode, stdout } = await gdn.run('batch', 'mint', join(EXAMPLES, 'drop.csv'), '-c', contract, '--json')
    expect(exitCode).toBe(0)
    expect(() => JSON.parse(stdout)).not.toThrow()
  })

  it('the same command sends nothing once the run is finished', async () => {
    const { exitCode, stdout } = await gdn.run('batch', 'mint', join(EXAMPLES, 'drop.csv'), '-c', contract, '--json')
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ total: 24, deployed: 24 })
    expect(await onChain()('totalSupply')).toBe(25n)
  })

  it('nft list shows every NFT, nft show every detail of one', { tags: ['promise', 'needed'] }, async () => {
    listed = await gdn.json<Nft[]>('nft', 'list', '-c', contract)
    expect(listed).toHaveLength(25)
    expect(new Set(listed.map((nft) => nft.token_id)).size).toBe(25)
    expect(listed.every((nft) => nft.status === 'deployed')).toBe(true)
    const shown = await gdn.json<Nft | Nft[]>('nft', 'show', minted.nft_gdn_id)
    const { nft_gdn_id, token_id, metadata_url } = minted
    expect(Array.isArray(shown) ? shown[0] : shown).toMatchObject({ nft_gdn_id, token_id, metadata_url })
  })

  it('on chain every row has its owner, its metadata file and its pictures, under CIDs that anyone can compute', {
    tags: ['promise', 'needed'],
  }, async () => {
    const rows = JSON.parse(await readFile(join(EXAMPLES, 'drop.json'), 'utf8')) as ExampleRow[]
    const read = onChain()
    const byTitle = new Map<string, { owner: string; metadata: Record<string, unknown> }>()
    const directories = new Set<string>()
    for (const { token_id, metadata_url } of listed) {
      const uri = await read('tokenURI', token_id)
      expect(uri).toBe(metadata_url)
      expect(uri).toMatch(/^ipfs:\/\/bafy[a-z2-7]+\/\d+\.json$/)
      directories.add(uri.split('/')[2] ?? '')
      const metadata = JSON.parse(Buffer.from(await fetchIpfs(uri)).toString())
      byTitle.set(metadata.name, { owner: await read('ownerOf', token_id), metadata })
    }
    for (const row of rows) {
      const found = byTitle.get(row.title ?? '')
      expect(found?.owner).toBe(row.receiver)
      const metadata: Record<string, unknown> = found?.metadata ?? {}
      expect(metadata).toMatchObject({ name: row.title, description: row.description })
      for (const [column, value] of Object.entries(row)) {
        const [kind, key = ''] = column.split(':')
        if (column === 'image' || kind === 'file') {
          const bytes = await readFile(join(EXAMPLES, value))
          const cid = await cidOf(bytes)
          expect(metadata[column === 'image' ? 'image' : key]).toBe(`ipfs://${cid}`)
          expect(Buffer.from(await fetchIpfs(cid)).equals(bytes)).toBe(true)
        }
        if (kind === 'extra') expect(metadata[key]).toBe(value)
        if (kind === 'attr') expect(metadata.attributes).toContainEqual({ trait_type: key, value })
      }
    }
    // The directory's CID, computed only from the bytes of its files.
    for (const directory of directories) {
      const { entries } = JSON.parse(Buffer.from(await fetchIpfs(directory)).toString()) as {
        entries: { name: string; cid: string }[]
      }
      for (const { name, cid } of entries) {
        const bytes = await fetchIpfs(`${directory}/${name}`)
        expect(CID.parse(cid).multihash.digest).toEqual(new Uint8Array(createHash('sha256').update(bytes).digest()))
      }
    }
  })

  it('batch results --verify confirms owner, token URI, metadata and files of every row on chain', async () => {
    const results = await gdn.json<{ line: number; verified: boolean | null; verify_error: string | null }[]>(
      ...['batch', 'results', 'drop', '--verify'],
    )
    expect(results).toHaveLength(24)
    expect(results.filter(({ verified }) => verified !== true)).toEqual([])
  })

  it('JSON and JSONL manifests mint the same drop', async () => {
    for (const [index, name] of ['drop.json', 'drop.jsonl'].entries()) {
      const { exitCode } = await gdn.run('batch', 'mint', join(EXAMPLES, name), '-c', contract, '--again', '--json')
      expect(exitCode).toBe(0)
      expect(await onChain()('totalSupply')).toBe(BigInt(49 + 24 * index))
    }
  })

  it('the same command resumes a killed batch, and no row is minted twice', {
    tags: ['promise', 'needed'],
  }, async () => {
    const rows = Array.from(
      { length: 50 },
      (_, index) => `Killed ${index},again,0x${((index % 12) + 1).toString(16).padStart(40, '2')}`,
    )
    const proxy = await startHttpFaultProxy(backend.url, { faultOf: () => null, random: () => 0 })
    const killed = gdnAt({ ...backend, url: proxy.url }, home.path)
    const manifest = await gdn.file('killed.csv', `title,description,receiver\n${rows.join('\n')}\n`)
    const argv = ['batch', 'mint', manifest, '-c', contract, '--chunk-size', '1', '--json'] as const
    let kills = 0
    for (;;) {
      const { exitCode, signal, stderr } = await killed.runAndKill([...argv], (ended) => proxy.after(kills * 20, ended))
      if (signal === undefined) {
        expect(exitCode, stderr).toBe(0)
        break
      }
      kills += 1
    }
    await proxy.close()
    // The first lives send 0, 20 and 40 of at least 50 requests.
    expect(kills).toBeGreaterThan(2)
    const titles = (await gdn.json<{ request_metadata: { title: string } }[]>('nft', 'list', '-c', contract))
      .map((nft) => nft.request_metadata.title)
      .filter((title) => title.startsWith('Killed '))
    expect(titles).toHaveLength(50)
    expect(new Set(titles).size).toBe(50)
  })
})
