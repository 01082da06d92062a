/** @module-tag slow */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { cli } from '../cli/harness.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  provenancesOf,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { type Kill, type KillingRelay, startKillingRelay } from '../helpers/killing-relay.ts'
import { report } from '../helpers/seed.ts'

const LIVES = process.env.GDN_SOAK === '1' ? Number(process.env.GDN_SOAK_STEPS ?? 300) : 1
const [ALICE, BOB] = WALLETS

const kill: fc.Arbitrary<Kill | null> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.record({ at: fc.nat(5), isDone: fc.boolean() }) },
)

const EDITS = ['none', 'title', 'titles', 'image', 'add', 'first', 'last', 'swap', 'ids'] as const

const command = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('unrevealed' as const) },
    { weight: 3, arbitrary: fc.constantFrom('as it is' as const, 'reveal' as const) },
    { weight: 1, arbitrary: fc.constantFrom('apply' as const, 'resume' as const) },
    // Burns an NFT without this machine's state.
    { weight: 1, arbitrary: fc.constant('burn' as const) },
  ),
  /** Two machines keep their state. The third one has none before each command. */
  machine: fc.constantFrom(0, 0, 1, 2),
  /** `renamed` and `copied` are the same manifest under another name, without and with the original. */
  file: fc.constantFrom('drop', 'drop', 'drop', 'renamed', 'renamed', 'copied', 'other'),
  run: fc.constantFrom(null, null, null, 'drop.csv', 'spring'),
  edit: fc.constantFrom('none', 'none', ...EDITS),
  placeholder: fc.constantFrom('hidden', 'hidden', 'hidden', 'closed'),
  flag: fc.constantFrom(null, null, null, null, '--adopt', '--adopt', '--dry-run', '--again', '--new-rows'),
  kill,
})

type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

type Life = { hasIds: boolean; hasCopies: boolean; commands: Command[] }

const MINT: Command = {
  ...{ kind: 'unrevealed', machine: 0, file: 'drop', run: null, edit: 'none', placeholder: 'hidden', flag: null },
  kill: null,
}
const REVEAL: Command = { ...MINT, kind: 'reveal' }

/** A drop that is minted and usually revealed, and any commands after that. */
const life: fc.Arbitrary<Life> = fc
  .record({
    hasIds: fc.boolean(),
    hasCopies: fc.constantFrom(true, false, false),
    first: kill.map((one) => ({ ...MINT, kill: one })),
    second: fc.option(
      kill.map((one) => ({ ...REVEAL, kill: one })),
      { freq: 3 },
    ),
    others: fc.array(command, { minLength: 1, maxLength: 5 }),
  })
  .map(({ hasIds, hasCopies, first, second, others }) => {
    const commands = [first, ...(second === null ? [] : [second]), ...others]
    return { hasIds, hasCopies, commands: hasCopies ? commands.map(withCopies) : commands }
  })

/** Returns a command whose NFTs show the number of their row, because identical rows have the same title. */
function withCopies({ kind, flag, ...rest }: Command): Command {
  return {
    ...rest,
    kind: kind === 'as it is' || kind === 'apply' ? 'unrevealed' : kind,
    edit: 'none',
    flag: flag === '--again' ? null : flag,
  }
}

/** Errors with which a command refuses to send anything. */
const REFUSED = [
  'refused',
  'seems_minted',
  'already_accepted',
  'edited_rows',
  'not_found',
  'run_busy',
  'usage',
  'not_found_locally',
  'run_finished',
]

let backend: TestBackend
let relay: KillingRelay

beforeAll(async () => {
  backend = await backendForFile()
  relay = await startKillingRelay(backend)
})
afterAll(async () => {
  await relay?.close()
})

/** A row in a manifest. `n` identifies it independently of its ID and content. */
interface Row {
  n: number
  /** The row with which its content is identical; usually `n`. */
  copied: number
  id: string | null
  title: string
  image: string
}

function rowsOf({ file, edit }: Command, { hasIds, hasCopies }: Life): Row[] {
  const first = file === 'other' ? 11 : 1
  const named = edit === 'ids' ? !hasIds : hasIds
  const row = (at: number): Row => {
    const isEdited = (edit === 'title' && at === 1) || edit === 'titles'
    const copied = first + (hasCopies && at === 2 ? 0 : at)
    return {
      n: first + at,
      copied,
      id: named ? `r${at}` : null,
      title: `Row ${copied}${isEdited ? ' edited' : ''}`,
      image: `image ${copied}${edit === 'image' && at === 1 ? ' edited' : ''}`,
    }
  }
  const [a, b, c, d] = [row(0), row(1), row(2), row(3)]
  if (edit === 'add') return [a, b, c, d]
  if (edit === 'first') return [b, c]
  if (edit === 'last') return [a, b]
  return edit === 'swap' ? [b, a, c] : [a, b, c]
}

interface Nft {
  nft_gdn_id: string
  status: string
  revision: number
  burned?: boolean | null
  receiver_wallet_address: string
  pending_change?: unknown
  request_metadata: {
    title: string
    file_fields: { key: string; url: string }[]
    provenance_row?: string
    provenance_salt?: string
  }
}

/** What is known about an NFT from its mint. */
interface Minted {
  row: Row
  /** The name in its reference ID; null if it has a random one. */
  scope: string | null
  /** The contents of its manifest, to which the collection is committed if it was minted unrevealed. */
  manifest: string
  /** The title that it shows; null until it is revealed. */
  title: string | null
}

async function nftsOf({ address, blockchain }: TestCollection): Promise<Nft[]> {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  if (nft_gdn_ids.length === 0) return []
  return (await call(backend, 'getnfts', { nft_gdn_ids })).nfts as unknown as Nft[]
}

/** Returns the hash of the leaves file that the metadata of an unrevealed NFT names. */
function provenanceIn({ file_fields }: Nft['request_metadata']): string {
  const url = file_fields.find(({ key }) => key === 'provenance')?.url ?? ''
  return `0x${Buffer.from(CID.parse(url.replace('ipfs://', '')).multihash.digest).toString('hex')}`
}

const contentsOf = (rows: readonly Row[]) => JSON.stringify(rows.map(({ title, image }) => [title, image]))

const figures: Record<string, number> = {}
const count = (what: string, more = 1) => {
  figures[what] = (figures[what] ?? 0) + more
}

async function live(life: Life): Promise<void> {
  const { commands, hasCopies } = life
  const collection = await createTestCollection(backend, { enable_burn: true })
  const machine = async () => {
    const hidden = (title: string) => JSON.stringify({ title, description: 'Wait', image: 'art/hidden.txt' })
    return await folder({
      'hidden.json': hidden('Hidden'),
      'closed.json': hidden('Closed'),
      'art/hidden.txt': 'hidden',
    })
  }
  const machines = [await machine(), await machine()]
  const known = new Map<string, Minted>()
  const committed = new Map<string, Row[]>()
  /** Runs with drops that began with --again, by machine and name, with the number of such drops. */
  const again = new Map<string, number>()
  /** How often each row was minted in these runs. */
  const repeated = new Map<string, number>()

  /** Waits until nothing is in progress. */
  const settled = async () => {
    await relay.idle()
    await until(
      () => provenancesOf(backend, collection),
      (all) => all.every(({ status }) => status !== 'initiated'),
    )
    return await until(
      () => nftsOf(collection),
      (nfts) => nfts.every((nft) => nft.status === 'deployed' && nft.pending_change == null),
    )
  }

  for (const [step, one] of commands.entries()) {
    const { kind, file, run, placeholder, flag, kill } = one
    if (kind === 'burn') {
      const live = (await nftsOf(collection)).find(({ burned }) => !burned)
      if (live === undefined) continue
      await call(backend, 'burnnft', {
        contract_address: collection.address,
        nft_gdn_id: live.nft_gdn_id,
        holder_wallet_address: live.receiver_wallet_address,
      })
      await until(
        () => nftsOf(collection),
        (nfts) => nfts.some((nft) => nft.nft_gdn_id === live.nft_gdn_id && nft.burned === true),
      )
      count('burns')
      continue
    }
    const { path, options } = (machines[one.machine] ?? (await machine())) as (typeof machines)[number]
    const rows = rowsOf(one, life)
    // A run is resumed with the rows that it stores.
    const possible = kind === 'resume' ? EDITS.flatMap((edit) => rowsOf({ ...one, edit }, life)) : rows
    const name = file === 'copied' ? 'renamed.csv' : `${file}.csv`
    const scope = run ?? name
    if (file === 'renamed') await rm(path('drop.csv'), { force: true })
    await mkdir(path('art'), { recursive: true })
    for (const { copied, image } of rows) await writeFile(path(`art/${copied}.txt`), image)
    const [head, cells] = rows[0]?.id === null ? ['', () => ''] : ['id,', ({ id }: Row) => `${id},`]
    const lines = rows.map(
      (row) => `${cells(row)}${row.title},x,art/${row.copied}.txt,${row.n % 2 === 0 ? ALICE : BOB}`,
    )
    await writeFile(path(name), [`${head}title,description,image,receiver`, ...lines].join('\n'))
    const argv = {
      unrevealed: ['batch', 'mint', path(name), '--unrevealed', path(`${placeholder}.json`), '--chunk-size', '1'],
      'as it is': ['batch', 'mint', path(name), '--dynamic', '--chunk-size', '1'],
      reveal: ['reveal', path(name), '--yes', '--rpc-url', `${backend.url}/rpc/polygon`],
      apply: ['apply', path(name), '--yes'],
      resume: ['batch', 'resume', path(name), '--yes'],
    }[kind]
    const mints = kind === 'unrevealed' || kind === 'as it is'
    const isAgain = mints && flag === '--again'
    const isFlag = mints || (flag === '--adopt' && kind !== 'resume') || (flag === '--dry-run' && kind !== 'apply')
    const isRun = run !== null && kind !== 'resume'
    const more = [
      ...(mints && hasCopies ? ['--allow-duplicates'] : []),
      ...(flag !== null && isFlag ? [flag] : []),
      ...(isRun ? ['--run', run] : []),
    ]
    const inCollection = kind === 'resume' ? [] : ['-c', collection.address, '-b', collection.blockchain]
    const target = [...inCollection, '--base-url', relay.url, '--json']
    const hashesBefore = new Set((await provenancesOf(backend, collection)).map(({ provenance }) => provenance))
    const before = await nftsOf(collection)

    const signal = relay.begin(kill)
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
    const { code, stdout, stderr } = await cli([...argv, ...more, ...target], { ...options, env, signal })
    const nfts = await settled()

    const what = `command ${step} of ${JSON.stringify({ ...life, commands: commands.slice(0, step + 1) })}\n${stdout}${stderr}`
    const error = code === 0 ? null : (JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.code as string)
    count(`${kind}: ${relay.isKilled ? 'killed' : (error ?? 'ok')}`)
    if (error !== null && !relay.isKilled) expect(REFUSED, what).toContain(error)
    const isRefused = error !== null && !relay.isKilled
    if (isRefused || (flag === '--dry-run' && isFlag)) {
      expect(relay.changes, what).toEqual([])
      expect(nfts, what).toEqual(before)
    }
    for (const { provenance } of await provenancesOf(backend, collection)) {
      if (!hashesBefore.has(provenance)) committed.set(provenance, rows)
    }

    const key = `${one.machine} ${scope}`
    if (isAgain && !isRefused) again.set(key, (again.get(key) ?? 0) + 1)
    // A run that is resumed by the path of its manifest may have any name.
    const isRandom = again.has(key) || kind === 'resume'
    const isRepeated =
      isAgain || [...again.keys()].some((one) => (kind === 'resume' ? one.startsWith(key.slice(0, 2)) : one === key))
    for (const nft of nfts) {
      const { provenance_row: number, title } = nft.request_metadata
      const seen = known.get(nft.nft_gdn_id)
      if (seen !== undefined) {
        if (number !== undefined) continue
        if (title === seen.title) continue
        // It was revealed or edited.
        const row = seen.row.title === title ? seen.row : rows.find((candidate) => candidate.title === title)
        expect([title, row?.n], what).toEqual([title, seen.row.n])
        if (kind === 'reveal') {
          expect([title, seen.manifest], what).toEqual([seen.row.title, contentsOf(rows)])
          expect(nft.request_metadata.provenance_salt, what).toBeDefined()
        }
        seen.title = title
        continue
      }
      const provenance = number === undefined ? null : provenanceIn(nft.request_metadata)
      const row =
        provenance === null
          ? possible.find((one) => one.title === title)
          : committed.get(provenance)?.[Number(number) - 1]
      if (row === undefined) throw new Error(`an NFT belongs to no row: ${JSON.stringify(nft)}\n${what}`)
      const minted: Minted = {
        row,
        scope: isRandom ? null : scope,
        manifest: contentsOf(rows),
        title: number === undefined ? title : null,
      }
      if (!isRepeated) {
        const twins = [...known.values()].filter((other) => isSameRow(minted, other))
        expect(twins, `${JSON.stringify(minted)} was minted before: ${what}`).toEqual([])
      } else if (kind !== 'resume') {
        const copy = JSON.stringify([key, minted.row.n, minted.manifest])
        repeated.set(copy, (repeated.get(copy) ?? 0) + 1)
        expect(repeated.get(copy), `${copy} was minted before: ${what}`).toBeLessThanOrEqual(again.get(key) ?? 0)
      }
      known.set(nft.nft_gdn_id, minted)
      count('mints')
    }
    if (error === null && mints && flag !== '--dry-run') {
      for (const { n } of rows) {
        expect(
          [...known.values()].map(({ row }) => row.n),
          `row ${n} is lost: ${what}`,
        ).toContain(n)
      }
    }
    if (kind === 'reveal' && error === null && flag !== '--dry-run') {
      const { revealed, left, not_minted, rows: all } = JSON.parse(stdout)
      expect(revealed + left + not_minted, what).toBe(all)
      const shown = rows.filter(({ n, title }) =>
        [...known.values()].some((one) => one.row.n === n && one.title === title),
      )
      expect(shown.length, what).toBeGreaterThanOrEqual(revealed)
      count('reveals', revealed)
    }
  }
}

/** Whether a row to be minted certainly has an NFT already. */
function isSameRow({ row, scope, manifest }: Minted, other: Minted): boolean {
  if (row.n !== other.row.n) return false
  // The reference ID.
  if (scope !== null && scope === other.scope) {
    if (row.id !== null && row.id === other.row.id) return true
    if (row.id === null && other.row.id === null && row.title === other.row.title && row.image === other.row.image)
      return true
  }
  // The content that it shows, or the commitment. A run that began earlier may go on next to a drop of --again.
  if (other.title !== null) return row.title === other.title
  return other.scope !== null && manifest === other.manifest
}

const APART = { machine: 1, file: 'renamed' } as const
const NAMED = { file: 'copied', run: 'spring', edit: 'swap' } as const
const EXAMPLES: Command[][] = [
  // After the reveal: a renamed manifest on another machine, and a run with another name on the same one.
  [MINT, REVEAL, { ...MINT, ...APART }, { ...MINT, ...NAMED, kind: 'as it is' }, { ...MINT, ...NAMED, kind: 'apply' }],
  // Before the reveal: a renamed manifest with another placeholder.
  [MINT, { ...MINT, ...APART, placeholder: 'closed' }],
  // A renamed manifest whose rows were minted as they are.
  [
    { ...MINT, kind: 'as it is' },
    { ...MINT, ...APART },
  ],
  // A run that was killed before its first mint, and is resumed after another machine minted its rows.
  [
    { ...MINT, kill: { at: 2, isDone: false } },
    { ...MINT, ...APART, flag: '--adopt' },
    { ...REVEAL, ...APART },
    { ...MINT, kind: 'resume' },
    MINT,
  ],
  // A run whose last request never arrived, while another machine minted the rest under another name.
  [
    { ...MINT, kill: { at: 5, isDone: false } },
    { ...MINT, ...APART, flag: '--adopt' },
    MINT,
    { ...MINT, kind: 'resume' },
    { ...REVEAL, ...APART },
    { ...MINT, kind: 'resume' },
  ],
  // Another drop with the same placeholder, which is killed and resumed, and whose NFTs aren't those of the rows.
  [
    { ...MINT, kill: { at: 3, isDone: true } },
    { ...MINT, file: 'other', flag: '--again', kill: { at: 3, isDone: true } },
    { ...MINT, file: 'other' },
    { ...MINT, ...APART, flag: '--adopt' },
    { ...REVEAL, ...APART },
  ],
]

/** Identical rows, of which one is burned while another one isn't minted. */
const COPIES: Command[] = [
  { ...MINT, kill: { at: 3, isDone: true } },
  { ...MINT, kind: 'burn' },
  { ...MINT, ...APART, flag: '--adopt' },
  { ...MINT, kind: 'resume' },
  { ...REVEAL, ...APART },
]

test('no order of mints, reveals, edits, names and machines mints a row of an unrevealed drop twice', async () => {
  await fc.assert(fc.asyncProperty(life, live), {
    endOnFailure: true,
    numRuns: EXAMPLES.length + 1 + LIVES,
    examples: [
      ...EXAMPLES.map((commands): [Life] => [{ hasIds: true, hasCopies: false, commands }]),
      [{ hasIds: false, hasCopies: true, commands: COPIES }],
    ],
    interruptAfterTimeLimit: 3_000_000,
  })
  report(figures)
})
