import { mkdir, writeFile } from 'node:fs/promises'
import { publicKeyOf } from '../../src/reveal/shuffle/beacon.ts'
import { folder } from '../cli/drop.ts'
import { cli, errorOf } from '../cli/harness.ts'
import { call, type TestBackend, type TestCollection, WALLETS } from './backend.ts'

const [ALICE, BOB] = WALLETS
const SECRET = Buffer.alloc(32, 7)

/** A beacon for tests, which signs every round. */
export const BEACON = JSON.stringify({
  public_key: Buffer.from(publicKeyOf(SECRET) ?? []).toString('hex'),
  genesis_time: 1_700_000_000,
  period: 3,
  secret_key: SECRET.toString('hex'),
})

export interface ShownNft {
  nft_gdn_id: string
  token_id: string | null
  status: string
  burned?: boolean
  revision: number
  receiver_wallet_address: string
  request_metadata: Record<string, unknown> & { title: string; provenance_salt?: string; provenance_signature?: string }
}

/** Rows r1, r2, … with the titles Row 1, Row 2, … in turn for two receivers. */
export const rowsOf = (count: number, edit: (row: number) => string = (row) => `Row ${row}`): string =>
  [
    'id,title,description,image,receiver',
    ...Array.from(
      { length: count },
      (_, at) => `r${at + 1},${edit(at + 1)},x,art/${(at % 3) + 1}.txt,${at % 2 === 0 ? ALICE : BOB}`,
    ),
  ].join('\n')

/** A machine with a beacon, the images of the rows, a placeholder, and its own state. */
export async function shuffledMachine(backend: TestBackend, collection: TestCollection, env: NodeJS.ProcessEnv = {}) {
  const { path, options } = await folder({
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait', image: 'art/hidden.txt' }),
    'beacon.json': BEACON,
  })
  await mkdir(path('art'))
  for (const name of ['1', '2', '3', 'hidden']) await writeFile(path(`art/${name}.txt`), `picture ${name}`)
  const all = { ...options, env: { ...options.env, ...env, GDN_API_KEY: backend.apiKey.reveal() } }
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  const run = async (command: string[], manifest: string, ...more: string[]) => {
    await writeFile(path('drop.csv'), manifest)
    const result = await cli([...command, path('drop.csv'), ...target, ...more, '--json'], all)
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }
  const beacon = ['--beacon', path('beacon.json')]
  return {
    path,
    options: all,
    target,
    run,
    mint: (manifest: string, ...more: string[]) =>
      run(['batch', 'mint'], manifest, '--unrevealed', path('hidden.json'), ...more),
    shuffle: (manifest: string, ...more: string[]) =>
      run(
        ['batch', 'mint'],
        manifest,
        ...['--unrevealed', path('hidden.json'), '--shuffle', '--shuffle-margin', '1s'],
        ...more,
      ),
    reveal: (manifest: string, ...more: string[]) => run(['reveal', '--yes'], manifest, ...beacon, ...more),
    plan: (manifest: string, ...more: string[]) => run(['plan'], manifest, ...beacon, ...more),
    apply: (manifest: string, ...more: string[]) => run(['apply', '--yes'], manifest, ...beacon, ...more),
    cli: (...argv: string[]) => cli([...argv, '--base-url', backend.url], all),
  }
}

export type ShuffledMachine = Awaited<ReturnType<typeof shuffledMachine>>

/** Returns the NFTs of a collection. */
export async function nftsOf(backend: TestBackend, { address, blockchain }: TestCollection): Promise<ShownNft[]> {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  if (nft_gdn_ids.length === 0) return []
  return (await call(backend, 'getnfts', { nft_gdn_ids })).nfts as unknown as ShownNft[]
}
