/** @module-tag slow */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRuns, type Run } from '../../src/batch/runs/runs.ts'
import { stateDirectory } from '../../src/config/paths.ts'
import { readStoredCommitment } from '../../src/reveal/unrevealed.ts'
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
import {
  BEACON,
  nftsOf,
  rowsOf,
  type ShownNft,
  type ShuffledMachine,
  shuffledMachine,
} from '../helpers/shuffled-machine.ts'
import { drawRows, verifyReveal } from '../helpers/verify-reveal.ts'

const IS_LONG = process.env.GDN_SOAK === '1'
const LIVES = IS_LONG ? Number(process.env.GDN_SOAK_STEPS ?? 60) : 1
const [, , CAROL] = WALLETS
const ROWS = 4

const kill: fc.Arbitrary<Kill | null> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.record({ at: fc.nat(5), isDone: fc.boolean() }) },
)

const MINTS = ['shuffle', 'unrevealed', 'as it is'] as const
const EDITS = ['none', 'title', 'swap', 'first', 'add', 'id'] as const
type Edit = (typeof EDITS)[number]

const command = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('shuffle' as const) },
    { weight: 4, arbitrary: fc.constant('reveal' as const) },
    { weight: 3, arbitrary: fc.constant('apply' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unrevealed' as const, 'as it is' as const, 'plan' as const) },
    { weight: 1, arbitrary: fc.constantFrom('resume' as const, 'retry' as const) },
    { weight: 1, arbitrary: fc.constant('reconcile' as const) },
    // By the API, without the state of a machine.
    { weight: 1, arbitrary: fc.constantFrom('burn' as const, 'transfer' as const) },
  ),
  /** Two machines keep their state. The third one has none before each command. */
  machine: fc.constantFrom(0, 0, 1, 2),
  edit: fc.constantFrom<Edit>('none', 'none', 'none', 'none', ...EDITS),
  run: fc.constantFrom(null, null, null, null, 'other'),
  flag: fc.constantFrom(null, null, null, null, '--adopt', '--again', '--no-lookup', '--dry-run'),
  /** Whether a reveal abandons the rows that aren't minted, none, or one. */
  abandons: fc.constantFrom('all', 'all', 'none', 'one'),
  kill,
})

type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

const MINT: Command = {
  ...{ kind: 'shuffle', machine: 0, edit: 'none', run: null, flag: null, abandons: 'all', kill: null },
}
const REVEAL: Command = { ...MINT, kind: 'reveal' }

/** Each life begins with a mint and has a reveal, so that most commands have an effect. */
const life = fc
  .record({
    first: kill,
    before: fc.array(command, { maxLength: 3 }),
    reveal: fc.record({ machine: fc.constantFrom(0, 1, 2), kill }),
    after: fc.array(command, { maxLength: 4 }),
  })
  .map(({ first, before, reveal, after }): Command[] => [
    { ...MINT, kill: first },
    ...before,
    { ...REVEAL, ...reveal },
    ...after,
  ])

/** The actions of a plan that change something. */
const CHANGES = ['mint', 'update', 'transfer', 'burn', 'impossible']

/** Errors with which a command refuses to change anything. */
const REFUSED = [
  ...['refused', 'seems_minted', 'already_accepted', 'edited_rows', 'not_found', 'usage', 'not_found_locally'],
  ...['run_busy', 'run_finished', 'batch_failed_rows'],
]

const title = (row: number, edit: Edit) => (row === 2 && edit === 'title' ? 'Row 2 edited' : `Row ${row}`)
/** The rows of a manifest in its order, by the numbers of their IDs. */
const ORDER: Record<Edit, number[]> = {
  none: [1, 2, 3, 4],
  id: [1, 2, 3, 4],
  title: [1, 2, 3, 4],
  swap: [2, 1, 3, 4],
  first: [2, 3, 4],
  add: [1, 2, 3, 4, 5],
}
const titlesOf = (edit: Edit) => ORDER[edit].map((row) => title(row, edit))

function manifestOf(edit: Edit): string {
  const [head, ...lines] = rowsOf(ROWS + 1, (row) => title(row, edit)).split('\n')
  const all = [head, ...ORDER[edit].map((row) => lines[row - 1])].join('\n')
  return edit === 'id' ? all.replace('r2,', 'x2,') : all
}

let backend: TestBackend
let relay: KillingRelay
beforeAll(async () => {
  backend = await backendForFile()
  relay = await startKillingRelay(backend)
})
afterAll(async () => {
  await relay?.close()
})

const sha256 = (...parts: (Uint8Array | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

/** Returns the hash of the leaves file that an NFT names before its reveal; null for an NFT with its own metadata. */
function provenanceIn({ request_metadata }: ShownNft): string | null {
  const { file_fields: files } = request_metadata as { file_fields?: { key: string; url: string }[] }
  const url = files?.find(({ key }) => key === 'provenance')?.url
  if (url === undefined) return null
  return `0x${Buffer.from(CID.parse(url.replace('ipfs://', '')).multihash.digest).toString('hex')}`
}

const figures: Record<string, number> = {}
const count = (what: string) => {
  figures[what] = (figures[what] ?? 0) + 1
}

async function changeByApi(
  kind: 'burn' | 'transfer',
  { address: contract_address, blockchain }: TestCollection,
  nfts: ShownNft[],
) {
  const nft = nfts.find(({ burned, receiver_wallet_address }) => !burned && receiver_wallet_address !== CAROL)
  if (nft === undefined) return
  const { nft_gdn_id, token_id, receiver_wallet_address: owner } = nft
  if (kind === 'burn') await call(backend, 'burnnft', { contract_address, nft_gdn_id, holder_wallet_address: owner })
  else {
    await call(backend, 'transfernft', {
      ...{ contract_address, blockchain, nft_gdn_id, token_id },
      ...{ receiver_wallet_address: CAROL, sender_wallet_address: owner },
    })
  }
  count(kind)
}

async function live(commands: Command[]): Promise<void> {
  const collection = await createTestCollection(backend, { enable_burn: true, enable_transfer: true })
  let signal = new AbortController().signal
  const machine = async () => await shuffledMachine({ ...backend, url: relay.url }, collection, () => signal)
  const machines: ShuffledMachine[] = [await machine(), await machine()]
  /** The slots of all NFTs, or null for NFTs with their own metadata. */
  const known = new Map<string, { provenance: string; slot: number } | null>()
  /** The manifests that the collection is committed to. */
  const committed = new Map<string, { edit: Edit; isShuffled: boolean }>()
  /** NFTs that `gdn apply` changed to rows of an edited manifest. */
  const edited = new Set<string>()
  let nfts: ShownNft[] = []

  const settled = async () => {
    await relay.idle()
    await until(
      () => provenancesOf(backend, collection),
      (all) => all.every(({ status }) => status !== 'initiated'),
    )
    return await until(
      () => nftsOf(backend, collection),
      (nfts) => nfts.every((nft) => nft.status === 'deployed' && nft.pending_change == null),
    )
  }

  /** Returns the title that an NFT shows by the rule of its drop. */
  function titleOf({ nft_gdn_id, request_metadata }: ShownNft): string | undefined {
    const { provenance, slot } = known.get(nft_gdn_id) ?? {}
    const drop = committed.get(provenance ?? '')
    if (provenance === undefined || slot === undefined || drop === undefined) return undefined
    const titles = titlesOf(drop.edit)
    if (!drop.isShuffled) return titles[slot - 1]
    const randomness = sha256(Buffer.from(String(request_metadata.provenance_signature), 'hex'))
    const seed = sha256('gdn-shuffle-v1', Buffer.from(provenance.slice(2), 'hex'), randomness)
    return titles[(drawRows(seed, titles.length)[slot - 1] ?? 0) - 1]
  }

  /** Checks what a machine shows of its runs. It may lack what other machines did, but not claim what isn't so. */
  async function checkRecords(
    { options }: ShuffledMachine,
    hashes: { seal_of?: string | null | undefined }[],
    what: string,
  ) {
    const show = async (command: 'status' | 'results', { id }: Run) =>
      JSON.parse((await cli(['batch', command, id, '--json'], options)).stdout)
    for (const run of await listRuns(stateDirectory(options.env))) {
      const provenance = readStoredCommitment(run)?.provenance
      if (provenance === undefined) continue
      const status = await show('status', run)
      const all = await show('results', run)
      const rows = all.filter(({ status }: { status: string }) => !['new', 'edited'].includes(status))
      const shown = `${what}\n${JSON.stringify([status, rows])}`
      for (const state of ['deployed', 'accepted', 'pending', 'failed', 'unknown', 'abandoned']) {
        const found = rows.filter((row: { status: string }) => row.status === state)
        expect(found.length, `status and results differ: ${shown}`).toBe(status[state])
      }
      if (status.abandoned > 0 || status.state === 'sealed') {
        expect(
          hashes.map(({ seal_of }) => seal_of),
          `a drop is not sealed: ${shown}`,
        ).toContain(provenance)
      }
      for (const [at, row] of rows.entries()) {
        const nft = [...known].find(([, other]) => other?.provenance === provenance && other.slot === at + 1)
        if (row.status === 'abandoned') expect(nft, `an abandoned slot ${at + 1} has an NFT: ${shown}`).toBeUndefined()
        if (row.drawn_key === undefined) continue
        const titles = ['', ...titlesOf('add')]
        const revealed = nfts.find(({ nft_gdn_id }) => nft_gdn_id === nft?.[0])?.request_metadata.title
        const drawn = titles[Number(row.drawn_key.slice(1))]
        expect([drawn, 'Hidden'], `slot ${at + 1} has another row: ${shown}`).toContain(
          revealed?.replace(' edited', ''),
        )
        count('drawn rows')
      }
      count(`${status.state} runs`)
    }
  }

  for (const [step, one] of commands.entries()) {
    const { kind, run, flag, abandons } = one
    // The commitment doesn't contain the IDs.
    const edit = one.edit === 'id' ? 'none' : one.edit
    if (kind === 'burn' || kind === 'transfer') {
      await changeByApi(kind, collection, nfts)
      nfts = await settled()
      continue
    }
    const by = machines[one.machine] ?? (await machine())
    const isMint = (MINTS as readonly string[]).includes(kind)
    const isDry = flag === '--dry-run' && (isMint || kind === 'reveal')
    const ownFlags = isMint ? [flag] : [flag === '--adopt' || (kind === 'reveal' && isDry) ? flag : null]
    const flags = [...ownFlags.flatMap((given) => given ?? []), ...(run === null ? [] : ['--run', run])]
    const before = nfts
    const hashesBefore = await provenancesOf(backend, collection)
    const missing = ORDER[edit].length - before.length
    const abandoned = abandons === 'one' ? 1 : abandons === 'all' && missing > 0 ? missing : null
    const more = kind === 'reveal' && abandoned !== null ? ['--abandon-rows', String(abandoned)] : []

    const manifest = manifestOf(one.edit)
    signal = relay.begin(one.kill)
    const send = {
      shuffle: () => by.shuffle(manifest, '--chunk-size', '1', ...flags),
      unrevealed: () => by.mint(manifest, '--chunk-size', '1', ...flags),
      'as it is': () => by.run(['batch', 'mint'], manifest, '--dynamic', '--chunk-size', '1', ...flags),
      reveal: () => by.reveal(manifest, ...flags, ...more),
      apply: () => by.apply(manifest, ...flags),
      plan: () => by.plan(manifest, ...flags),
      resume: () => by.resume('resume', manifest),
      retry: () => by.resume('retry', manifest),
      reconcile: () => by.resume('reconcile', manifest),
    }[kind]
    const { stdout, stderr, error } = await send()
    const { isKilled } = relay
    signal = relay.begin(null)
    nfts = await settled()
    const hashes = await provenancesOf(backend, collection)

    const what = `command ${step} of ${JSON.stringify(commands.slice(0, step + 1))}\n${stdout}${stderr}`
    count(`${kind}: ${isKilled ? 'killed' : (error?.code ?? 'ok')}`)
    const isRefused = error !== null && !isKilled
    // A reconciled run may have rows that were never sent, or whose outcome stays unknown.
    const codes = kind === 'reconcile' ? [...REFUSED, 'pending', 'unknown_outcome'] : REFUSED
    if (isRefused) expect(codes, what).toContain(error.code)
    if (isRefused || isDry || kind === 'plan') {
      expect(nfts, what).toEqual(before)
      expect(hashes, what).toEqual(hashesBefore)
    }

    const isSealed = (provenance: string) => hashesBefore.some(({ seal_of }) => seal_of === provenance)
    for (const { provenance, seal_of, shuffle_margin } of hashes.slice(hashesBefore.length)) {
      if (seal_of != null) continue
      const same = [...committed.values()].filter((other) => other.edit === edit)
      expect(same, `the rows have two commitments: ${what}`).toEqual([])
      committed.set(provenance, { edit, isShuffled: shuffle_margin != null })
    }
    const seals = hashes.flatMap(({ seal_of }) => seal_of ?? [])
    expect(new Set(seals).size, `a drop has two seals: ${what}`).toBe(seals.length)
    expect(
      seals.every((provenance) => committed.get(provenance)?.isShuffled),
      what,
    ).toBe(true)

    for (const nft of nfts) {
      const id = nft.nft_gdn_id
      if (!known.has(id)) {
        const provenance = provenanceIn(nft)
        if (provenance === null) {
          const drop = [...committed.values()].find((other) => other.edit === edit && other.isShuffled)
          expect(drop, `a row of a shuffled drop is minted as it is: ${what}`).toBeUndefined()
          known.set(id, null)
          continue
        }
        const slot = Number(nft.request_metadata.provenance_row)
        const twin = [...known.values()].find((other) => other?.provenance === provenance && other.slot === slot)
        const isShuffled = committed.get(provenance)?.isShuffled
        if (isShuffled || flag !== '--again') expect(twin, `slot ${slot} is minted twice: ${what}`).toBeUndefined()
        expect(isSealed(provenance), `an NFT is minted after the seal: ${what}`).toBe(false)
        known.set(id, { provenance, slot })
        count('mints')
        continue
      }
      const was = before.find(({ nft_gdn_id }) => nft_gdn_id === id)
      if (was === undefined || was.revision === nft.revision) continue
      const { title: shown } = nft.request_metadata
      if (kind === 'apply') {
        const rowIn = (text: string | undefined) => text?.replace(' edited', '')
        if (known.get(id) !== null) {
          expect(rowIn(shown), `an edit gave an NFT another row: ${what}`).toBe(rowIn(titleOf(nft)))
        }
        edited.add(id)
        continue
      }
      expect([kind, shown], `an NFT shows another row than its own: ${what}`).toEqual(['reveal', titleOf(nft)])
      const drop = known.get(id)
      const isDrawn = committed.get(drop?.provenance ?? '')?.isShuffled === true
      if (isDrawn) expect(seals, `an NFT is revealed before the seal: ${what}`).toContain(drop?.provenance)
      count('reveals')
    }

    for (const shown of machines) await checkRecords(shown, hashes, what)

    const drop = [...committed.values()].find((other) => other.edit === edit)
    const hasDrawn = kind === 'reveal' && error === null && !isDry && JSON.parse(stdout).round !== null
    if (hasDrawn && drop?.isShuffled === true && edited.size === 0) {
      const planned = await (await machine()).plan(manifest, ...(run === null ? [] : ['--run', run]))
      const changes = JSON.parse(planned.stdout).filter(({ action }: { action: string }) => CHANGES.includes(action))
      expect(changes, `a plan after the reveal is not empty: ${what}${planned.stderr}`).toEqual([])
    }
  }

  const { public_key: key, genesis_time: genesis, period } = JSON.parse(BEACON)
  const proven = await verifyReveal(
    ...([`${backend.url}/rpc/polygon`, backend.url, collection.address as `0x${string}`] as const),
    { key, genesis, period },
  )
  for (const nft of nfts) {
    const drop = committed.get(known.get(nft.nft_gdn_id)?.provenance ?? '')
    if (drop === undefined || nft.revision === 0 || nft.burned === true || edited.has(nft.nft_gdn_id)) continue
    const row = proven.get(String(nft.token_id))
    expect(
      titlesOf(drop.edit)[(row ?? 0) - 1],
      `token ${nft.token_id} is not proven: ${JSON.stringify(commands)}`,
    ).toBe(nft.request_metadata.title)
    count('proofs')
  }
}

const EXAMPLES: Command[][] = [
  // A request with an unknown outcome is repeated after the seal.
  [
    { ...MINT, kill: { at: 5, isDone: false } },
    { ...REVEAL, machine: 1 },
    { ...MINT, kill: null },
    { ...MINT, kind: 'reconcile' },
  ],
  // A row whose request never arrived has no NFT that could show a drawn row.
  [
    { ...MINT, kill: { at: 3, isDone: false } },
    { ...REVEAL, machine: 1, edit: 'none', flag: '--adopt', abandons: 'all' },
    { ...REVEAL, kill: { at: 5, isDone: false } },
  ],
  // Two machines with kills, a row that is abandoned, a reordered manifest, and an edit.
  [
    { ...MINT, kill: { at: 4, isDone: true } },
    { ...REVEAL, machine: 1, kill: { at: 1, isDone: true } },
    { ...MINT, machine: 1 },
    { ...REVEAL, machine: 2 },
    { ...MINT, kind: 'apply', machine: 1, edit: 'swap' },
    { ...MINT, kind: 'apply', machine: 2, edit: 'title' },
  ],
  // An ID is changed after the mint of some rows, and of all rows.
  [
    { ...MINT, kill: { at: 4, isDone: true } },
    { ...REVEAL, machine: 1, edit: 'id', abandons: 'all' },
    { ...MINT, machine: 1, edit: 'id' },
    { ...MINT, machine: 1 },
    { ...REVEAL, machine: 2, edit: 'id', abandons: 'one' },
    { ...REVEAL, machine: 1 },
    { ...MINT, kind: 'apply', machine: 2, edit: 'id' },
  ],
  // One machine mints some rows, and another one the other rows and seals the drop.
  [
    { ...MINT, kill: { at: 4, isDone: true } },
    { ...MINT, machine: 1 },
    { ...REVEAL, machine: 1 },
    { ...MINT, kind: 'reconcile' },
    { ...MINT, kind: 'resume' },
  ],
]

test('in no order of mints, kills, edits, seals and reveals on two machines, a row is chosen or minted twice', async () => {
  await fc.assert(fc.asyncProperty(life, live), {
    endOnFailure: true,
    numRuns: EXAMPLES.length + LIVES,
    examples: EXAMPLES.map((commands): [Command[]] => [commands]),
    interruptAfterTimeLimit: 3_000_000,
  })
  report(figures)
})
