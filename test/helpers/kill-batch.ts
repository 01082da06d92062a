import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { freshDataDir } from './backend.ts'
import { gdnAt, type Run } from './gdn-at.ts'
import { type HostedNft, ODD_RESPONSES, startHostedService } from './hosted-service.ts'
import { FAULTS, type Fault, type HttpFaultProxy, startHttpFaultProxy } from './http-fault-proxy.ts'
import { serve } from './served-backend.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const RECEIVERS = ['0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359', '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB']
const SHARE_OF_FAULTS = 0.3
const SHARE_OF_ODD_RESPONSES = 0.3
const ROWS_PER_REQUEST = 4
/** gdn is killed up to this many milliseconds after a request. */
const MAX_MS = 120

export interface KillBatchOptions {
  rows: number
  kills: number
  random: () => number
}

export interface KillBatchFigures {
  kills: number
  faults: number
  /** Number of rows whose outcome was unknown at the end. */
  absent: number
  undecided: number
  seconds: number
}

interface ResultRow {
  line: number
  status: string
  nft_gdn_id: string | null
  error: string | null
}

/** Returns a manifest in which every seventh row repeats the previous one, and the title of each line. */
function manifestOf(rows: number): { csv: string; titles: string[] } {
  const titles = Array.from({ length: rows }, (_, index) => `Piece ${index % 7 === 6 ? index - 1 : index}`)
  const lines = titles.map((title, index) => {
    // A copy has the same receiver, so it is the same NFT twice.
    const receiver = RECEIVERS[(index % 7 === 6 ? index - 1 : index) % 2]
    return `${title},One of many,${receiver}`
  })
  return { csv: `title,description,receiver\n${lines.join('\n')}\n`, titles }
}

const countBy = (titles: Iterable<string>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const title of titles) counts.set(title, (counts.get(title) ?? 0) + 1)
  return counts
}

const pick = <Item>(items: readonly Item[], random: () => number): Item | null =>
  items[Math.floor(random() * items.length)] ?? null

const faultsOf = (random: () => number) => (): Fault | null =>
  random() < SHARE_OF_FAULTS ? pick(FAULTS, random) : null

type Gdn = ReturnType<typeof gdnAt>

/** Starts the batch and kills it repeatedly. Returns the number of kills. */
async function liveAndDie(
  gdn: Gdn,
  proxy: HttpFaultProxy,
  argv: readonly string[],
  { rows, kills, random }: KillBatchOptions,
): Promise<number> {
  let killed = 0
  // So that the batch is not complete before most of the kills.
  const mostRequests = Math.ceil(rows / ROWS_PER_REQUEST / kills)
  for (let life = 0; life < kills; life++) {
    const { signal, exitCode, stderr } = await gdn.runAndKill(argv, async (ended) => {
      // Before the first byte is sent, or around any of the requests.
      await proxy.after(Math.floor(random() * mostRequests), ended)
      // Too few requests to complete the batch, so the first two are killed on any machine.
      if (life > 1) await setTimeout(random() * MAX_MS, undefined, { signal: ended })
    })
    if (signal === 'SIGKILL') killed++
    // It may have ended. The next start prints the summary, or resumes pending rows.
    else expect([0, 7, 8, 9, 6], stderr).toContain(exitCode)
  }
  return killed
}

const resultsOf = async (gdn: Gdn): Promise<ResultRow[]> => await gdn.json('batch', 'results', 'drop')

/** Repeats the command until the run is complete, like a person after each message. */
async function toTheEnd(gdn: Gdn, argv: readonly string[]): Promise<Run> {
  for (let attempt = 0; ; attempt++) {
    const run = await gdn.run(...argv)
    if ((run.exitCode !== 6 && run.exitCode !== 8) || attempt === 10) return run
  }
}

/**
 * Mints a drop with the built gdn on the hosted service, over a connection that disrupts 30 % of the requests, while
 * gdn is killed at random and 30 % of the responses to mints have wrong IDs or are late. Afterwards no row is minted
 * twice, every row has an outcome, and rows reported as absent or minted are exactly that.
 */
export async function killBatchOnHosted(
  options: KillBatchOptions & { othersMint: boolean },
): Promise<KillBatchFigures> {
  const { rows, random, othersMint } = options
  const since = performance.now()
  const home = await mkdtemp(join(tmpdir(), 'gdn-kill-batch-'))
  const service = await startHostedService({
    rate: 20,
    tellsRate: true,
    listingLagMs: 150,
    deployMs: 400,
    oddResponse: () => (random() < SHARE_OF_ODD_RESPONSES ? pick(ODD_RESPONSES, random) : null),
    onMinted(nfts, { mintByOther }) {
      if (othersMint && random() < 0.15) for (const nft of nfts.slice(0, 1)) mintByOther(nft)
    },
  })
  const proxy = await startHttpFaultProxy(service.url, { faultOf: faultsOf(random), random })
  try {
    const gdn = gdnAt({ url: proxy.url, apiKey: service.apiKey }, home)
    const { csv, titles } = manifestOf(rows)
    const manifest = await gdn.file('drop.csv', csv)
    const argv = [
      'batch',
      'mint',
      manifest,
      '-c',
      CONTRACT,
      '--chunk-size',
      String(ROWS_PER_REQUEST),
      '--listing-wait',
      '2s',
      '--allow-duplicates',
      '--yes',
    ]
    const killed = await liveAndDie(gdn, proxy, argv, options)
    proxy.heal()
    const last = await toTheEnd(gdn, argv)
    const results = await resultsOf(gdn)
    const { absent, undecided } = checkHosted(results, titles, service.nfts, othersMint, last)
    if (absent > 0) {
      const retried = await gdn.run('batch', 'retry', 'drop', '--absent', '--listing-wait', '2s', '--yes')
      checkHosted(await resultsOf(gdn), titles, service.nfts, othersMint, retried)
    }
    expect(service.tooFast).toBe(0)
    const faults = Object.entries(proxy.counts).reduce((sum, [name, n]) => sum + (name === 'none' ? 0 : n), 0)
    return { kills: killed, faults, absent, undecided, seconds: secondsSince(since) }
  } finally {
    await proxy.close()
    await service.close()
    await rm(home, { recursive: true, force: true })
  }
}

function checkHosted(
  results: readonly ResultRow[],
  titles: readonly string[],
  nfts: ReadonlyMap<string, HostedNft>,
  othersMint: boolean,
  last: Run,
) {
  const odd = results.filter(({ status, error }) => status !== 'deployed' || error !== null)
  const oddTitles = new Set(odd.map(({ line }) => titles[line - 2]))
  const theirs = [...nfts.values()].filter(({ metadata }) => oddTitles.has(metadata.title))
  const context = [
    last.stderr,
    ...odd.map((row) => JSON.stringify(row)),
    ...theirs.map((nft) => JSON.stringify(nft)),
  ].join('\n')
  // No row is minted twice: each title has at most as many NFTs as rows.
  const expected = countBy(titles)
  const minted = countBy([...nfts.values()].filter(({ by }) => by === 'gdn').map(({ metadata }) => metadata.title))
  for (const [title, count] of minted)
    expect(count, `${title}\n${context}`).toBeLessThanOrEqual(expected.get(title) ?? 0)
  // Every row has an outcome, and no two rows share an ID.
  expect(results.map(({ line }) => line)).toEqual(titles.map((_, index) => index + 2))
  const ids = results.flatMap(({ status, nft_gdn_id }) => (status === 'deployed' ? [nft_gdn_id ?? ''] : []))
  expect(new Set(ids).size, context).toBe(ids.length)
  const reported = new Map<string, number>()
  const absent: string[] = []
  let undecided = 0
  for (const { line, status, nft_gdn_id, error } of results) {
    const title = titles[line - 2] ?? ''
    if (status === 'deployed') {
      expect(nfts.get(nft_gdn_id ?? '')?.metadata.title, context).toBe(title)
      reported.set(title, (reported.get(title) ?? 0) + 1)
      continue
    }
    expect(status, context).toBe('unknown')
    if (error?.startsWith('absent')) absent.push(title)
    else undecided++
  }
  // An absent row may be sent again, so it must not exist.
  for (const title of absent) {
    expect((minted.get(title) ?? 0) - (reported.get(title) ?? 0), `${title}\n${context}`).toBeLessThanOrEqual(0)
  }
  // Only copies of another client leave rows undecided.
  if (!othersMint) expect(undecided, context).toBe(0)
  // If another client mints a copy while an absent row is sent again, the row may be minted twice, which is reported.
  const doubled = results.filter(({ status, error }) => status === 'deployed' && error !== null)
  for (const { error } of doubled) {
    expect(error, context).toMatch(/^possibly minted twice: /)
    expect(nfts.get(error?.split(' ').at(-1) ?? '')?.by, context).toBe('other')
  }
  expect(last.exitCode, context).toBe(absent.length + undecided > 0 ? 9 : doubled.length > 0 ? 7 : 0)
  return { absent: absent.length, undecided }
}

/**
 * Mints a drop with the built gdn on gdn's own backend, over a connection that disrupts 30 % of the requests, while gdn
 * is killed at random. The backend supports Idempotency-Key, so every row is minted exactly once, and no outcome is
 * unknown.
 */
export async function killBatchOnBackend(options: KillBatchOptions): Promise<KillBatchFigures> {
  const { rows, random } = options
  const since = performance.now()
  const home = await mkdtemp(join(tmpdir(), 'gdn-kill-batch-'))
  const dataDir = await freshDataDir()
  const backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
  const proxy = await startHttpFaultProxy(backend.url, { faultOf: faultsOf(random), random })
  try {
    const direct = gdnAt(backend, home)
    const gdn = gdnAt({ ...backend, url: proxy.url }, home)
    const { contract_address } = await direct.json<{ contract_address: string }>(
      ...['collection', 'create', '--name', 'Killed', '-b', 'polygon', '--wallet', RECEIVERS[0] ?? ''],
    )
    const { csv, titles } = manifestOf(rows)
    const manifest = await gdn.file('drop.csv', csv)
    const target = ['-c', contract_address, '--allow-duplicates']
    const argv = ['batch', 'mint', manifest, ...target, '--chunk-size', String(ROWS_PER_REQUEST)]
    const killed = await liveAndDie(gdn, proxy, argv, options)
    proxy.heal()
    const last = await toTheEnd(gdn, argv)
    expect(last.exitCode, last.stderr).toBe(0)
    const results = await resultsOf(gdn)
    expect(results.map(({ status }) => status)).toEqual(titles.map(() => 'deployed'))
    const listed = await direct.json<{ nft_gdn_id: string; request_metadata: { title: string } }[]>(
      ...['nft', 'list', '-c', contract_address],
    )
    expect(countBy(listed.map(({ request_metadata }) => request_metadata.title))).toEqual(countBy(titles))
    expect(new Set(results.map(({ nft_gdn_id }) => nft_gdn_id))).toEqual(
      new Set(listed.map(({ nft_gdn_id }) => nft_gdn_id)),
    )
    const faults = Object.entries(proxy.counts).reduce((sum, [name, n]) => sum + (name === 'none' ? 0 : n), 0)
    return { kills: killed, faults, absent: 0, undecided: 0, seconds: secondsSince(since) }
  } finally {
    await proxy.close()
    await backend.end('SIGTERM')
    await dataDir.remove()
    await rm(home, { recursive: true, force: true })
  }
}

const secondsSince = (since: number): number => Math.round((performance.now() - since) / 100) / 10
