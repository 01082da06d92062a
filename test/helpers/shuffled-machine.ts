import { mkdir, writeFile } from 'node:fs/promises'
import { derivePublicKey } from '../../src/api/beacon.ts'
import { chunksOf } from '../../src/core/chunks-of.ts'
import { GdnError } from '../../src/core/errors.ts'
import { folder } from '../cli/batch/drop.ts'
import { cli, errorOf } from '../cli/harness.ts'
import { call, type TestBackend, type TestCollection, WALLETS } from './backend.ts'
import { startHttpServer } from './http-server.ts'
import { forward } from './killing-relay.ts'

const [ALICE, BOB, CAROL] = WALLETS
const SECRET = Buffer.alloc(32, 7)

/** A beacon for tests, which signs every round. */
export const BEACON = JSON.stringify({
  public_key: Buffer.from(derivePublicKey(SECRET) ?? []).toString('hex'),
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
  pending_change?: unknown
  receiver_wallet_address: string
  request_metadata: Record<string, unknown> & { title: string; provenance_salt?: string; provenance_signature?: string }
}

const receiverOf = (row: number) => (row === REFUSED_ROW ? CAROL : row % 2 === 0 ? BOB : ALICE)

/** Rows r1, r2, … with the titles Row 1, Row 2, …, for three receivers. */
export const rowsOf = (count: number, edit: (row: number) => string = (row) => `Row ${row}`): string =>
  [
    'id,title,description,image,receiver',
    ...Array.from(
      { length: count },
      (_, at) => `r${at + 1},${edit(at + 1)},x,art/${(at % 3) + 1}.txt,${receiverOf(at + 1)}`,
    ),
  ].join('\n')

/** The row that `refusingRelay` refuses. It has a receiver of its own, so that its request has no other row. */
export const REFUSED_ROW = 3

/** Starts a relay to a backend that refuses one row of each drop, and can kill the command in progress. */
export async function refusingRelay({ url }: { url: string }) {
  let left = Number.POSITIVE_INFINITY
  let stop = new AbortController()
  const server = await startHttpServer(async (request) => {
    const { method, path, body } = request
    const isRead = method === 'GET' || /\/get\w+$/.test(path) || path.startsWith('/rpc/')
    if (isRead) return await forward(url, request)
    if (String(body).includes(`"provenance_row":"${REFUSED_ROW}"`)) {
      return { status: 400, json: { error: { title: 'Bad Request', message: 'refused by this test' } } }
    }
    if (left-- > 0) return await forward(url, request)
    // Half of the requests take effect although the command never sees the response.
    if (left % 2 === 0) await forward(url, request)
    stop.abort(new GdnError('interrupted', 'interrupted by this test'))
    return 'drop'
  })
  return {
    url: server.url,
    close: server.close,
    /** Returns the signal of the next command, which is killed after this number of changes. */
    killAfter(changes: number) {
      left = changes
      stop = new AbortController()
      return stop.signal
    },
    get isKilled() {
      return stop.signal.aborted
    },
  }
}

/** A machine with a beacon, the images of the rows, a placeholder, and its own state. */
export async function shuffledMachine(
  backend: Pick<TestBackend, 'apiKey' | 'url'>,
  collection: TestCollection,
  signalOf = () => new AbortController().signal,
) {
  const { path, options } = await folder({
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait', image: 'art/hidden.txt' }),
    'beacon.json': BEACON,
  })
  await mkdir(path('art'))
  for (const name of ['1', '2', '3', 'hidden']) await writeFile(path(`art/${name}.txt`), `picture ${name}`)
  const all = { ...options, env: { ...options.env, GDN_API_KEY: backend.apiKey.reveal() } }
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  const run = async (command: string[], manifest: string, ...more: string[]) => {
    await writeFile(path('drop.csv'), manifest)
    const result = await cli([...command, path('drop.csv'), ...target, ...more, '--json'], {
      ...all,
      signal: signalOf(),
    })
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }
  /** Runs a command on the run of the manifest, which has its collection. */
  const resume = async (verb: 'resume' | 'retry' | 'reconcile', manifest: string) => {
    await writeFile(path('drop.csv'), manifest)
    const confirmed = verb === 'reconcile' ? [] : ['--yes']
    const argv = ['batch', verb, path('drop.csv'), ...confirmed, '--base-url', backend.url, '--json']
    const result = await cli(argv, { ...all, signal: signalOf() })
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }
  const beacon = ['--beacon', path('beacon.json')]
  return {
    path,
    options: all,
    target,
    run,
    resume,
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
  const nfts: unknown[] = []
  for (const ids of chunksOf(nft_gdn_ids, 100)) {
    nfts.push(...(await call(backend, 'getnfts', { nft_gdn_ids: ids })).nfts)
  }
  return nfts as ShownNft[]
}
