/** @module-tag slow */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  type TestBackend,
  type TestCollection,
  until,
} from '../../helpers/backend.ts'
import { type EnsStandIn, startEnsNode } from '../../helpers/ens-node.ts'
import { type Kill, type KillingRelay, startKillingRelay } from '../../helpers/killing-relay.ts'
import { report } from '../../helpers/seed.ts'
import { folder } from '../batch/drop.ts'
import { cli } from '../harness.ts'

const LIVES = process.env.GDN_SOAK === '1' ? Number(process.env.GDN_SOAK_STEPS ?? 300) : 2
const POLYGON = '2147483785'
const MACHINES = 3
const DEFAULT = 'alice.eth'

/**
 * `address` and `held` replace the name in a row by the address that it has now, or by the owner of the row's NFT.
 * `home` restores the first receiver. `other` writes a name with a different address, and `twin` a name with the same
 * address. `double` adds a copy of the row with the same receiver in another spelling. `move` gives the name of a row a
 * fresh address, `join` gives it the address of the next row, and `vanish` removes its record.
 */
const EDITS = ['address', 'held', 'home', 'other', 'twin', 'remove', 'double', 'move', 'join', 'vanish'] as const

const edit = fc.record({
  edit: fc.constantFrom(...EDITS, 'home', 'other', 'twin', 'move', 'move', 'move'),
  row: fc.nat(3),
})

const kill: fc.Arbitrary<Kill | null> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.record({ at: fc.nat(4), isDone: fc.boolean() }) },
)

const command = fc.record({
  // `saved` applies a saved plan, after all names got other addresses. `lose` removes the state of a machine.
  kind: fc.constantFrom('mint', 'mint', 'mint', 'mint', 'resume', 'plan', 'apply', 'apply', 'saved', 'lose'),
  machine: fc.constantFrom<number[]>(0, 0, 0, 1, 2),
  /** `renamed` and `copied` are the same manifest under another name, without and with the original. */
  file: fc.constantFrom(...Array<'drop'>(8).fill('drop'), 'renamed', 'copied'),
  run: fc.constantFrom(...Array<null>(8).fill(null), 'spring', 'drop.csv'),
  isReordered: fc.constantFrom(false, false, true),
  /** Whether the flag --receiver sets the receiver of rows to alice.eth. */
  isDefault: fc.constantFrom(false, false, false, true),
  flag: fc.constantFrom(...Array<null>(8).fill(null), '--adopt', '--dry-run', '--new-rows'),
  kill,
  /** The machine that plans after a success; `moved` is another one, after all names got other addresses. */
  planner: fc.constantFrom('none', 'same', 'other', 'moved'),
})

type Edit = typeof edit extends fc.Arbitrary<infer Value> ? Value : never
type Command = (typeof command extends fc.Arbitrary<infer Value> ? Value : never) & {
  /** The exit code that an example must have, and the number of NFTs after it. */
  code?: number | undefined
  nfts?: number | undefined
  /** Names move and another machine mints the drop while the first change of this command is in flight. */
  isRace?: boolean | undefined
}
type Step = Edit | Command

interface Life {
  drop: 'ids' | 'no ids' | 'list'
  steps: Step[]
}

const MINT: Command = {
  ...{
    kind: 'mint',
    machine: 0,
    file: 'drop',
    run: null,
    isReordered: false,
    isDefault: false,
    flag: null,
    kill: null,
    planner: 'none',
  },
}

const life: fc.Arbitrary<Life> = fc.record({
  drop: fc.constantFrom('ids', 'ids', 'no ids', 'list'),
  steps: fc
    .tuple(
      kill.map((one) => ({ ...MINT, kill: one })),
      fc.array(fc.oneof({ weight: 4, arbitrary: edit }, { weight: 5, arbitrary: command }), {
        minLength: 3,
        maxLength: 9,
      }),
    )
    .map(([first, others]): Step[] => [first, ...others]),
})

/** Exit codes with which a command refuses to send anything. */
const REFUSED = [2, 5, 9]

let backend: TestBackend
let relay: KillingRelay
let node: EnsStandIn

beforeAll(async () => {
  backend = await backendForFile()
  relay = await startKillingRelay(backend)
  node = await startEnsNode({})
})
afterAll(async () => {
  await node?.close()
  await relay?.close()
})

const figures: Record<string, number> = {}
const count = (what: string) => {
  figures[what] = (figures[what] ?? 0) + 1
}

const isName = (written: string) => written.endsWith('.eth')

/** A row or line of a list as the user wrote it. `n` identifies it, and is part of its title. */
interface Row {
  n: number
  home: string
  written: string
  isIn: boolean
}

interface Nft {
  nft_gdn_id: string
  status: string
  receiver_wallet_address: string
  receiver_name?: string | null
  pending_change?: unknown
  request_metadata: { title: string }
}

/** What is known about an NFT. */
interface Minted {
  id: string
  /** The number of its row. */
  n: number
  /** The name that its receiver has now; null if it has an address. */
  name: string | null
  owner: string
  /** Each text with which its receivers were written, and each address that it belonged to. */
  persons: Set<string>
  /** The receiver as it was written for the mint. */
  written: string
  /** The run or manifest in its reference ID; null if it isn't known. */
  scope: string | null
}

type Machine = Awaited<ReturnType<typeof folder>>

/** A drop, the machines that mint it, and the addresses of names. */
class World {
  readonly drop: Life['drop']
  readonly collection: TestCollection
  readonly machines: Machine[]
  readonly rows: Row[]
  readonly known = new Map<string, Minted>()
  /** Each text that was a receiver of a row. */
  readonly everWritten = new Map<number, Set<string>>()
  /** The addresses at which a machine's run may have pinned a name, by machine, run and name. */
  readonly pins = new Map<string, { sent: string | null; seen: Set<string> }>()
  /** Each name that ever had a record. */
  readonly names = new Set<string>()
  private fresh = 0

  constructor(drop: Life['drop'], collection: TestCollection, machines: Machine[]) {
    this.drop = drop
    this.collection = collection
    this.machines = machines
    for (const name of Object.keys(node.records)) delete node.records[name]
    for (const name of [DEFAULT, 'bob.eth']) this.move(name)
    const written = [DEFAULT, 'bob.eth', this.address(), ...(drop === 'list' ? [] : [DEFAULT])]
    this.rows = written.map((home, at) => ({ n: at + 1, home, written: home, isIn: true }))
    this.note()
  }

  /** Returns an address that nothing else has. */
  address(): string {
    this.fresh += 1
    return `0x${'7'.repeat(32)}${this.fresh.toString(16).padStart(8, '0')}`
  }

  move(name: string, address = this.address()): void {
    this.names.add(name)
    node.records[name] = { [POLYGON]: address as `0x${string}` }
  }

  moveAll(): void {
    for (const name of Object.keys(node.records)) this.move(name)
  }

  /** Returns the address that a receiver has now; undefined for a name without a record. */
  addressOf(written: string): string | undefined {
    if (!isName(written)) return written
    return (node.records[written] as Record<string, string> | undefined)?.[POLYGON]
  }

  note(): void {
    for (const { n, written } of this.rows) {
      this.everWritten.set(n, (this.everWritten.get(n) ?? new Set()).add(written))
    }
  }

  get written(): Row[] {
    return this.rows.filter(({ isIn }) => isIn)
  }

  nftsOf(n: number): Minted[] {
    return [...this.known.values()].filter((nft) => nft.n === n)
  }

  /** Returns how many NFTs a row or line is for. */
  copies({ n }: { n: number }): number {
    return this.drop === 'list' && n === 1 ? 2 : 1
  }

  edit({ edit, row: at }: Edit): void {
    const row = this.rows[at % this.rows.length] as Row
    const now = this.addressOf(row.written) ?? this.nftsOf(row.n)[0]?.owner ?? this.address()
    const write = (written: string) => Object.assign(row, { written, isIn: true })
    if (edit === 'address') write(now)
    else if (edit === 'held') write(this.nftsOf(row.n)[0]?.owner ?? now)
    else if (edit === 'home') write(row.home)
    else if (edit === 'remove') row.isIn = this.written.length === 1
    else if (edit === 'double') this.double(row, now)
    else if (edit === 'move' && isName(row.written)) this.move(row.written)
    else if (edit === 'vanish' && isName(row.written)) delete node.records[row.written]
    else if (edit === 'join' && isName(row.written)) {
      const next = this.rows[(at + 1) % this.rows.length] as Row
      this.move(row.written, this.addressOf(next.written))
    } else if (edit === 'other' || edit === 'twin') {
      const name = `${edit}-${row.n}.eth`
      if (edit === 'twin' || node.records[name] === undefined) this.move(name, edit === 'twin' ? now : undefined)
      write(name)
    }
    this.note()
  }

  /** Adds a copy of a row. Rows with different IDs are different rows, so there is none in a manifest with IDs. */
  double({ n, written }: Row, address: string): void {
    if (this.drop === 'ids' || this.rows.length > 4) return
    const name = `double-${n}.eth`
    this.move(name, address)
    const other = isName(written) ? address : name
    this.rows.push({ n, home: other, written: other, isIn: true })
  }

  /**
   * Returns the addresses that a command may use for a name: the one to which its run sent an NFT, or else each address
   * at which the run may have pinned the name, or the current address. The run of a `resume` or with `--adopt` isn't
   * known, so it may be any of the machine.
   */
  addressesOf({ kind, machine, flag }: Command, scope: string, name: string): string[] {
    const isAny = kind === 'resume' || flag === '--adopt'
    const pins = [...this.pins].flatMap(([key, pin]) => {
      const isOwn = key === `${machine} ${scope} ${name}`
      return isOwn || (isAny && key.startsWith(`${machine} `) && key.endsWith(` ${name}`)) ? [pin] : []
    })
    const sent = pins.flatMap((pin) => pin.sent ?? [])
    if (sent.length > 0 && !isAny) return sent
    const now = kind === 'resume' ? undefined : this.addressOf(name)
    return [...sent, ...pins.flatMap(({ seen }) => [...seen]), ...(now === undefined ? [] : [now])]
  }

  /** Notes the addresses that names have while a command of a run reads them. */
  pin({ machine }: Command, scope: string): void {
    for (const name of Object.keys(node.records)) {
      const key = `${machine} ${scope} ${name}`
      const pin = this.pins.get(key) ?? { sent: null, seen: new Set() }
      this.pins.set(key, pin)
      pin.seen.add(this.addressOf(name) as string)
    }
  }

  async lose(machine: number): Promise<void> {
    await rm(this.machines[machine]?.path('') ?? '', { recursive: true, force: true })
    this.machines[machine] = await folder({})
    for (const key of [...this.pins.keys()]) if (key.startsWith(`${machine} `)) this.pins.delete(key)
  }

  /** Waits until nothing is in progress, and returns all NFTs. */
  async settled(): Promise<Nft[]> {
    await relay.idle()
    const { address, blockchain } = this.collection
    return await until(
      async () => {
        const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
        if (nft_gdn_ids.length === 0) return []
        return (await call(backend, 'getnfts', { nft_gdn_ids })).nfts as unknown as Nft[]
      },
      (nfts) => nfts.every((nft) => nft.status === 'deployed' && nft.pending_change == null),
    )
  }
}

const lower = (address: string) => address.toLowerCase()

/** Returns a receiver as written, with an address in lower case. */
const spelled = (written: string) => (isName(written) ? written : lower(written))

const scopeOf = ({ run, file }: Command) => run ?? (file === 'copied' ? 'renamed.csv' : `${file}.csv`)

/** Writes the drop to a machine, and returns the path of its manifest. */
async function writeDrop({ drop, written }: World, { path }: Machine, { file, ...one }: Command): Promise<string> {
  const table = (columns: string[], cells: (row: Row) => Record<string, unknown>) => {
    const order = one.isReordered ? columns.toReversed() : columns
    return [order.join(','), ...written.map((row) => order.map((column) => cells(row)[column]).join(','))].join('\n')
  }
  await mkdir(path(''), { recursive: true })
  const name = `${file === 'copied' ? 'renamed' : file}.csv`
  if (file === 'renamed') await rm(path('drop.csv'), { force: true })
  if (drop === 'list') {
    await writeFile(path('row.json'), JSON.stringify({ title: 'Ticket', description: 'x' }))
    const cells = ({ n, written: receiver }: Row) => ({ receiver, count: n === 1 ? 2 : 1 })
    await writeFile(path(name), table(['receiver', 'count'], cells))
  } else {
    const columns = [...(drop === 'ids' ? ['id'] : []), 'title', 'description', 'receiver']
    const cells = ({ n, written: receiver }: Row) => ({
      ...{ id: `r${n}`, title: `Row ${n}`, description: 'x' },
      receiver: one.isDefault && receiver === DEFAULT ? '' : receiver,
    })
    await writeFile(path(name), table(columns, cells))
  }
  return path(name)
}

/** The result of a command. */
interface Printed {
  code: number
  stdout: string
  stderr: string
  /** The addresses of names that it printed. */
  printed: ReadonlyMap<string, string>
}

/** Runs a command of a machine. */
async function run(
  world: World,
  { options }: Machine,
  argv: string[],
  { signal, url = relay.url }: { signal?: AbortSignal; url?: string } = {},
): Promise<Printed> {
  const { address, blockchain } = world.collection
  const target = argv[1] === 'resume' || argv[1]?.endsWith('.json') ? [] : ['-c', address, '-b', blockchain]
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_ENS_RPC_URL: node.url }
  const ended = await cli([...argv, ...target, '--base-url', url], { ...options, env, ...(signal && { signal }) })
  const printed = [...ended.stderr.matchAll(/(\S+\.eth) → (0x[0-9a-fA-F]{40})/g)]
  return { ...ended, printed: new Map(printed.map(([, name = '', address = '']) => [name, lower(address)])) }
}

/** Returns the arguments of a command for a drop. Lists are only minted. */
function argvOf(
  world: World,
  { kind, run: name, flag, isDefault, kill }: Command,
  path: string,
  { path: at }: Machine,
): string[] {
  const named = name === null ? [] : ['--run', name]
  const isFlag = !(flag === '--dry-run' && kind !== 'mint')
  const flags = [...named, ...(isFlag && flag !== null ? [flag] : [])]
  if (isDefault && world.drop !== 'list') flags.push('--receiver', DEFAULT)
  // Each row is a request of its own, so that a command can be killed between two rows.
  const chunks = kill === null ? [] : ['--in-order', '--chunk-size', '1']
  const manifest = world.drop === 'list' ? at('row.json') : path
  if (kind === 'resume') return ['batch', 'resume', name ?? manifest, '--yes']
  if (world.drop === 'list') return ['batch', 'mint', manifest, '--to', path, ...chunks, ...flags]
  if (kind === 'mint') return ['batch', 'mint', path, ...chunks, ...flags]
  if (kind === 'apply') return ['apply', path, '--yes', ...flags]
  if (kind === 'saved') return ['plan', path, '--out', at('plan.json'), ...flags]
  return ['plan', path, ...flags]
}

async function live({ drop, steps }: Life): Promise<void> {
  const collection = await createTestCollection(backend, { enable_transfer: true })
  const machines = await Promise.all(Array.from({ length: MACHINES }, () => folder({})))
  const world = new World(drop, collection, machines)
  for (const [at, step] of steps.entries()) {
    if ('edit' in step) {
      world.edit(step)
      continue
    }
    if (step.kind === 'lose') {
      await world.lose(step.machine)
      continue
    }
    const life = JSON.stringify({ drop, steps: steps.slice(0, at + 1) })
    await runCommand(world, drop === 'list' && step.kind !== 'resume' ? { ...step, kind: 'mint' } : step, life)
  }
}

/** A command that ended, and what was true when it began. */
interface Ended extends Printed {
  one: Command
  scope: string
  /** The addresses that the command may use for each name, in lower case. */
  addresses: ReadonlyMap<string, readonly string[]>
  /** What failed, for messages. */
  what: string
}

/** Runs a command and checks all rules. */
async function runCommand(world: World, one: Command, life: string): Promise<void> {
  const { kind, flag, kill } = one
  const machine = world.machines[one.machine] as Machine
  const scope = scopeOf(one)
  const path = await writeDrop(world, machine, one)
  const before = await world.settled()
  const isDry = kind === 'plan' || (kind === 'mint' && flag === '--dry-run')
  if (!isDry && kind !== 'resume') world.pin(one, scope)
  const addresses = addressesFor(world, one)
  const race = async () => {
    world.moveAll()
    for (const [name, all] of addressesFor(world, { ...one, machine: MACHINES })) addresses.get(name)?.push(...all)
    const other = await folder({})
    const argv = argvOf(world, one, await writeDrop(world, other, one), other)
    const { code, stderr } = await run(world, other, argv, { url: backend.url })
    expect(code, stderr).toBe(0)
  }
  const signal = relay.begin(kill, one.isRace ? race : undefined)
  let printed = await run(world, machine, argvOf(world, one, path, machine), { signal })
  if (kind === 'saved' && printed.code === 0) {
    // The saved plan keeps the addresses.
    world.moveAll()
    printed = await run(world, machine, ['apply', machine.path('plan.json'), '--yes'], { signal })
  }
  const nfts = await world.settled()
  const { code, stdout, stderr } = printed
  const what = `${life}\nrows: ${JSON.stringify(world.written)}\nexit code ${code}\n${stdout}${stderr}`
  const ended = { ...printed, one, scope, addresses, what }
  count(`${kind}${isDry && kind === 'mint' ? ' --dry-run' : ''}: ${relay.isKilled ? 'killed' : code}`)

  if (!relay.isKilled) {
    if (code !== 0) expect(REFUSED, what).toContain(code)
    if (code !== 0 || isDry) expect([relay.changes, nfts], what).toEqual([[], before])
    if (one.code !== undefined) expect(code, what).toBe(one.code)
  }
  for (const nft of nfts) {
    const seen = world.known.get(nft.nft_gdn_id)
    if (seen === undefined) checkMint(world, ended, nft)
    else checkKept(world, ended, nft, seen)
  }
  if (one.nfts !== undefined) expect(nfts.length, what).toBe(one.nfts)
  if (code !== 0 || isDry || relay.isKilled || kind === 'resume') return
  for (const row of world.written) {
    const own = [...world.known.values()].filter((nft) => isMintOf(world, ended, nft, row))
    expect(own.length, `row ${JSON.stringify(row)} has no NFT: ${what}`).toBeGreaterThanOrEqual(world.copies(row))
  }
  if (world.drop !== 'list')
    await checkPlan(world, { ...one, kind: 'plan', flag: flag === '--adopt' ? null : flag }, what)
}

const addressesFor = (world: World, one: Command) =>
  new Map([...world.names].map((name) => [name, world.addressesOf(one, scopeOf(one), name).map(lower)]))

/** Whether an NFT is the one of a row that a command minted or found. */
function isMintOf({ drop }: World, { scope, addresses }: Ended, nft: Minted, { n, written }: Row): boolean {
  if (drop !== 'list' && nft.n !== n) return false
  if (drop === 'ids' && nft.scope === scope) return true
  return [spelled(written), ...(addresses.get(written) ?? [])].some((person) => nft.persons.has(person))
}

/** Checks that a new NFT is the first one of its row, and went to the address that was printed. */
function checkMint(world: World, { one, scope, addresses, printed, what }: Ended, nft: Nft): void {
  const owner = lower(nft.receiver_wallet_address)
  const name = nft.receiver_name ?? null
  const written = name ?? owner
  const [, title] = /^Row (\d+)$/.exec(nft.request_metadata.title) ?? []
  const candidates = one.kind === 'resume' ? world.rows : world.written
  const row = candidates.find(
    (candidate) => (title === undefined || candidate.n === Number(title)) && isWritten(world, one, candidate, written),
  )
  if (row === undefined) throw new Error(`an NFT belongs to no row: ${JSON.stringify(nft)}\n${what}`)
  const { n } = row
  const persons = new Set([written, owner])
  const minted: Minted = {
    ...{ id: nft.nft_gdn_id, n, name, owner, persons, written },
    scope: one.kind === 'resume' ? null : scope,
  }
  if (name !== null) {
    checkAddress({ one, addresses, printed, what: `${shown(minted)}: ${what}` }, name, owner)
    const pin = world.pins.get(`${one.machine} ${scope} ${name}`)
    if (pin !== undefined && !one.isRace) pin.sent = owner
  }
  const twins = [...world.known.values()].filter((other) => isSame(world, minted, other))
  expect(twins.length, `${shown(minted)} was minted before: ${twins.map(shown)} ${what}`).toBeLessThan(
    world.copies(row),
  )
  world.known.set(nft.nft_gdn_id, minted)
  count('mints')
}

/** Checks that an NFT of a name went to an address that the command may use, and to the one that it printed. */
function checkAddress(
  { one, addresses, printed, what }: Pick<Ended, 'one' | 'addresses' | 'printed' | 'what'>,
  name: string,
  owner: string,
): void {
  expect(addresses.get(name), `${name} has another address: ${what}`).toContain(owner)
  if (one.kind !== 'saved' && !one.isRace)
    expect(owner, `${name} was printed: ${what}`).toBe(printed.get(name) ?? owner)
}

const shown = ({ persons, ...rest }: Minted) => JSON.stringify({ ...rest, persons: [...persons] })

/** Whether a row was written with this receiver; for a resumed run, whether it ever was. */
function isWritten(world: World, { kind }: Command, { n, written }: Row, receiver: string): boolean {
  const texts = kind === 'resume' ? [...(world.everWritten.get(n) ?? [])] : [written]
  return texts.some((text) => spelled(text) === receiver)
}

/** Whether an NFT to be minted certainly exists already. */
function isSame({ drop }: World, { n, scope, persons }: Minted, other: Minted): boolean {
  if (drop !== 'list' && n !== other.n) return false
  if (drop === 'ids' && scope !== null && scope === other.scope) return true
  return [...persons].some((person) => other.persons.has(person))
}

/** Checks that an NFT stays where it was, unless its row was edited and applied. */
function checkKept(world: World, ended: Ended, nft: Nft, seen: Minted): void {
  const { one } = ended
  const owner = lower(nft.receiver_wallet_address)
  const name = nft.receiver_name ?? null
  if (owner === seen.owner && name === seen.name) return
  const what = `${shown(seen)} changed to ${JSON.stringify(nft)}: ${ended.what}`
  const row = world.written.find(({ n }) => n === seen.n)
  if (row === undefined || world.drop !== 'ids' || (one.kind !== 'apply' && one.kind !== 'saved')) throw new Error(what)
  expect(name ?? owner, what).toBe(spelled(row.written))
  expect(name === null || name !== seen.name, what).toBe(true)
  if (name !== null) checkAddress({ ...ended, what }, name, owner)
  Object.assign(seen, { owner, name })
  for (const person of [owner, name ?? owner]) seen.persons.add(person)
  count('transfers')
}

/** Returns the change of a row that a plan shows; null if the model can't know. */
function expectedChange(world: World, one: Command, { n, written }: Row): 'transfer' | 'none' | null {
  if (world.drop !== 'ids') return 'none'
  const own = world.nftsOf(n)
  const [nft] = own
  if (nft === undefined || own.length > 1) return null
  if (!isName(written)) return lower(written) === nft.owner ? 'none' : 'transfer'
  if (written === nft.name) return 'none'
  const addresses = addressesFor(world, one).get(written) ?? []
  if (!addresses.includes(nft.owner)) return 'transfer'
  return nft.name === null && addresses.length === 1 ? 'none' : null
}

/** Plans a drop that was just minted or applied: only rows whose receivers were edited since then change. */
async function checkPlan(world: World, one: Command, before: string): Promise<void> {
  if (one.planner === 'none') return
  const scope = scopeOf(one)
  const isKnown = ({ n, written }: Row) =>
    world.addressOf(written) !== undefined &&
    world.nftsOf(n).some((nft) => nft.scope === scope && (world.drop === 'ids' || nft.written === spelled(written)))
  const isElsewhere = one.planner !== 'same'
  if (isElsewhere && !world.written.every(isKnown)) return
  const records = { ...node.records }
  if (one.planner === 'moved') world.moveAll()
  const machine = isElsewhere ? await folder({}) : (world.machines[one.machine] as Machine)
  const path = await writeDrop(world, machine, one)
  relay.begin(null)
  const { code, stdout, stderr } = await run(world, machine, [...argvOf(world, one, path, machine), '--json'])
  const what = `plan (${one.planner}) with exit code ${code} after ${before}\n${stdout}${stderr}`
  expect(code, what).toBe(0)
  const actions = (JSON.parse(stdout) as { action: string }[]).map(({ action }) => action)
  const changes = actions.filter((action) => action !== 'note')
  expect(new Set([...changes, 'transfer']), what).toEqual(new Set(['transfer']))
  const planned = { ...one, machine: isElsewhere ? MACHINES : one.machine }
  const expected = world.written.map((row) => expectedChange(world, planned, row))
  expect(changes.length, what).toBeGreaterThanOrEqual(expected.filter((change) => change === 'transfer').length)
  expect(changes.length, what).toBeLessThanOrEqual(expected.filter((change) => change !== 'none').length)
  count(`plans: ${one.planner}`)
  for (const [name, record] of Object.entries(records)) node.records[name] = record
}

const LOST: Command = { ...MINT, kill: { at: 1, isDone: true } }
const APPLY: Command = { ...MINT, kind: 'apply', planner: 'same' }
const RESUME: Command = { ...MINT, kind: 'resume' }
const SPRING: Pick<Command, 'file' | 'run'> = { file: 'copied', run: 'spring' }
const ALONE: Command = { ...MINT, machine: 1, planner: 'same' }
const to = (what: Edit['edit'], row = 0): Edit => ({ edit: what, row })
const OK = { code: 0, nfts: 4 } as const
const USAGE = { code: 2, nfts: 4 } as const
const SEEMS = { code: 9, nfts: 4 } as const
const NOTHING = { code: 2, nfts: 0 } as const

/** What may never mint a row twice, with the exit codes of the commands that matter. */
const RULES: [rule: string, ...lives: Life[]][] = [
  [
    'refuses a receiver of a list that is rewritten from its name to its address, or back',
    { drop: 'list', steps: [MINT, to('address'), { ...MINT, ...USAGE }, to('home'), { ...MINT, ...OK }] },
    { drop: 'list', steps: [to('address'), MINT, to('home'), { ...MINT, ...USAGE }] },
  ],
  [
    'refuses a row without an ID whose receiver is rewritten from its name to its address, or back',
    { drop: 'no ids', steps: [MINT, to('address'), { ...MINT, ...USAGE }, to('home'), { ...MINT, ...OK }] },
    { drop: 'no ids', steps: [to('address'), MINT, to('home'), { ...MINT, ...USAGE }] },
    { drop: 'no ids', steps: [MINT, to('address'), { ...MINT, flag: '--new-rows', ...USAGE }] },
  ],
  [
    'finds rows whose receiver moves from the column to the flag --receiver',
    ...(['ids', 'no ids'] as const).map((drop): Life => {
      return {
        drop,
        steps: [MINT, to('move'), { ...MINT, isDefault: true, ...OK }, { ...ALONE, isDefault: true, ...OK }],
      }
    }),
  ],
  [
    'keeps the NFT of a row with an ID whose receiver is rewritten from its name to its address, or back',
    {
      drop: 'ids',
      steps: [MINT, to('address'), { ...MINT, ...OK }, { ...APPLY, ...OK }, to('home'), { ...APPLY, ...OK }],
    },
    { drop: 'ids', steps: [to('address'), MINT, to('home'), { ...MINT, ...OK }, { ...APPLY, ...OK }] },
  ],
  [
    'refuses two lines of a list with the same address',
    { drop: 'list', steps: [to('join'), { ...MINT, ...NOTHING }] },
    { drop: 'list', steps: [to('double'), { ...MINT, ...NOTHING }] },
  ],
  [
    'refuses two rows that differ only in a name and its address',
    { drop: 'no ids', steps: [to('double'), { ...MINT, ...NOTHING }] },
  ],
  [
    'mints other rows whose names have the same address',
    { drop: 'ids', steps: [to('join'), { ...MINT, ...OK }] },
    { drop: 'no ids', steps: [to('join'), { ...MINT, ...OK }] },
  ],
  [
    'refuses a rewritten row in another run',
    ...(['ids', 'no ids', 'list'] as const).map((drop): Life => {
      const edits = [to('address'), to('remove', 1), to('remove', 2), to('remove', 3)]
      const others: Partial<Command>[] = drop === 'ids' ? [SPRING] : [SPRING, { run: 'spring' }, { file: 'copied' }]
      return { drop, steps: [MINT, ...edits, ...others.map((other) => ({ ...MINT, ...other, ...USAGE }))] }
    }),
  ],
  [
    'finds the rows on another machine after names moved, and needs --adopt in another run',
    ...(['ids', 'no ids', 'list'] as const).map((drop): Life => {
      const other: Command = { ...MINT, machine: 2, ...SPRING }
      const moved = [to('move'), to('move', 1)]
      const minted: Command = { ...MINT, planner: 'moved' }
      return { drop, steps: [minted, ...moved, { ...ALONE, ...OK }, { ...other, ...SEEMS }] }
    }),
  ],
  [
    'adopts the rows of another run after names moved, and takes them from no other receiver',
    ...(['ids', 'no ids', 'list'] as const).map((drop): Life => {
      const adopted: Command = { ...ALONE, ...SPRING, flag: '--adopt', ...OK }
      return { drop, steps: [MINT, to('move'), to('move', 1), adopted, { ...ALONE, ...SPRING, ...OK }] }
    }),
  ],
  [
    'refuses a receiver of a list that comes back under another name',
    { drop: 'list', steps: [MINT, to('remove'), { ...MINT, ...OK }, to('twin'), { ...MINT, ...USAGE }] },
    { drop: 'list', steps: [MINT, to('twin'), { ...ALONE, ...SEEMS }] },
  ],
  [
    'mints nothing for a removed receiver that comes back after its name moved',
    { drop: 'list', steps: [MINT, to('remove'), MINT, to('move'), to('home'), { ...MINT, ...OK }] },
    { drop: 'no ids', steps: [MINT, to('remove'), MINT, to('move'), to('home'), { ...MINT, ...OK }] },
  ],
  [
    'resumes a run with pinned addresses after names moved, and without a record',
    { drop: 'ids', steps: [LOST, to('move'), { ...RESUME, ...OK }, { ...APPLY, ...OK }] },
    { drop: 'list', steps: [LOST, to('vanish'), to('vanish', 1), { ...RESUME, ...OK }, { ...MINT, ...OK }] },
    { drop: 'no ids', steps: [LOST, to('move'), to('move', 1), { ...MINT, ...OK }] },
  ],
  [
    'finds the rows of a machine that lost its state, after names moved',
    ...(['ids', 'no ids', 'list'] as const).map((drop): Life => {
      return { drop, steps: [LOST, { ...MINT, kind: 'lose' }, to('move'), to('move', 1), { ...MINT, ...OK }] }
    }),
  ],
  [
    'transfers an NFT once if its name is edited, wherever other names moved',
    {
      drop: 'ids',
      steps: [MINT, to('other'), to('move', 1), { ...APPLY, ...OK, planner: 'moved' }, { ...ALONE, ...APPLY, ...OK }],
    },
  ],
  [
    'mints a row once if a machine sends it while another one mints it to the new address of its name',
    ...(['ids', 'no ids', 'list'] as const).map((drop): Life => {
      return { drop, steps: [{ ...MINT, isRace: true, ...OK }] }
    }),
  ],
  [
    'applies a saved plan with its addresses after names moved',
    { drop: 'ids', steps: [LOST, to('other'), { ...MINT, kind: 'saved', planner: 'same', ...OK }] },
  ],
]

test.each(RULES)('%s', async (_rule, ...lives) => {
  for (const one of lives) await live(one)
})

test('no order of mints, edits, moved names, other runs and machines mints a row with a name twice', async () => {
  await fc.assert(fc.asyncProperty(life, live), {
    endOnFailure: true,
    numRuns: LIVES,
    interruptAfterTimeLimit: 3_000_000,
  })
  report(figures)
})
