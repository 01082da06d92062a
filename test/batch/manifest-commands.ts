import { removeRun } from '../../src/batch/runs/remove-run.ts'
import { listRuns, openRun, runStatus } from '../../src/batch/runs/runs.ts'
import type { BatchDeps, BatchOptions, BatchPacer, BatchSummary } from '../../src/batch/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import { readListRows } from '../../src/manifest/list-rows.ts'
import type { World } from './manifest-world.ts'
import { Killer, killableDatabase } from './simulation.ts'

const RUN_NAMES = ['n1', 'n2', 'drop.csv', 'feb.csv']
/** The time that a run waits for the listing of the collection, in simulated milliseconds. */
const LISTING_WAIT = 1000
/** Number of hints that are followed one after the other. */
export const MAX_HINTS = 3
/** A process is killed at a statement up to this one. */
const MAX_STEP = 250

type Changes = Partial<BatchOptions>

/** Runs a command, and returns what it broke, or null. */
type Command = () => Promise<string | null>

/** Lets a few requests leave, and then ends the run as Ctrl-C does. */
function stoppingPacer(requests: number): BatchPacer {
  let left = requests
  return {
    async take() {
      if (left-- <= 0) throw new GdnError('interrupted', 'interrupted')
      return { done: () => {} }
    },
    hold: () => {},
  }
}

/** Runs a batch. Returns null if the process was killed. */
async function killable(world: World, act: (deps: Partial<BatchDeps>) => Promise<BatchSummary>) {
  const { machine } = world
  const killer = new Killer(1 + world.pick(MAX_STEP))
  try {
    return await act({ openDatabase: killableDatabase(killer) })
  } catch (error) {
    if (!killer.crashed) throw error
    return null
  } finally {
    killer.revive()
    if (killer.crashed) await machine.bury()
  }
}

/** Returns whether --new-rows may be added: it mints a row again that has another ID than before. */
const mayAddNewRows = (world: World, name: string): boolean =>
  (world.manifests.get(name) ?? []).every(({ id }) => id === undefined)

/** Runs `batch mint` for a manifest, and often follows a hint if gdn refuses it. Returns what it broke, or null. */
export async function mint(world: World, name: string, changes: Changes = {}, hints = 0): Promise<string | null> {
  const rows = world.rowsOf(name)
  if (rows.length === 0) return null
  world.exceptAdopted(name)
  const ending = hints === 0 ? world.any(['end', 'end', 'end', 'end', 'end', 'end', 'stop', 'kill'] as const) : 'end'
  const options = {
    manifestPath: world.path(name),
    allowDuplicates: true,
    chunkSize: 1 + world.pick(3),
    listingWait: LISTING_WAIT,
    ...changes,
  }
  const pacer = ending === 'stop' ? { pacer: stoppingPacer(world.pick(3)) } : {}
  const shown = `mint ${name} ${JSON.stringify(changes)}${ending === 'end' ? '' : ` ${ending}`}`
  try {
    const run = (deps: Partial<BatchDeps>) => world.machine.run(world.server, rows, options, { ...pacer, ...deps })
    const summary = ending === 'kill' ? await killable(world, run) : await run({})
    if (summary === null) return said(world, shown, 'killed')
    said(world, shown, `exit ${summary.exitCode}`, JSON.stringify(summary.counts))
    if (summary.exitCode !== 0) return null
    for (const piece of world.manifests.get(name) ?? []) piece.before = undefined
    return world.lostRow(name) ?? (await world.lostResult(summary))
  } catch (error) {
    const refusal = refusalOf(world, shown, error)
    if (hints >= MAX_HINTS || ending !== 'end') return null
    const commands = commandsOf(world, name, changes, hints + 1, refusal)
    if (commands.length === 0 || world.chance(0.2)) return null
    world.count('followed hint')
    return await world.any(commands)()
  }
}

function said(world: World, command: string, outcome: string, details = ''): null {
  world.log.push(`$ ${command} -> ${outcome} ${details}`)
  world.count(outcome)
  return null
}

/** Records the refusal of a command. Rethrows any other error. */
function refusalOf(world: World, command: string, error: unknown): GdnError {
  if (!(error instanceof GdnError)) throw error
  said(world, command, error.code, `${error.message} ~~ ${(error.hint ?? '').replaceAll('\n', ' ~ ')}`)
  return error
}

/** Returns the commands that the hint of a refusal suggests. */
function commandsOf(world: World, name: string, changes: Changes, hints: number, refusal: GdnError): Command[] {
  const hint = refusal.hint ?? ''
  const again = (more: Changes) => () => mint(world, name, { ...changes, ...more }, hints)
  const commands: Command[] = []
  if (/moved, add --adopt|--adopt to treat|with --adopt|, add --adopt/.test(hint)) commands.push(again({ adopt: true }))
  for (const [, runName] of hint.matchAll(/add --run (\S+) --adopt/g)) commands.push(again({ runName, adopt: true }))
  for (const [, runName] of hint.matchAll(/add --run (n\d)\b/g)) commands.push(again({ runName }))
  if (/add --run <name>\. gdn then/.test(hint)) commands.push(again({ runName: world.any(RUN_NAMES) }))
  if (/--new-rows/.test(hint) && mayAddNewRows(world, name)) commands.push(again({ newRows: true }))
  const lines = (refusal.details as { rows?: { line: number }[] } | null)?.rows
  if (/remove these rows/.test(hint) && lines !== undefined) {
    commands.push(() => {
      const gone = new Set(lines.map(({ line }) => line))
      world.manifests.set(
        name,
        (world.manifests.get(name) ?? []).filter((_, index) => !gone.has(index + 2)),
      )
      world.write(name)
      return mint(world, name, changes, hints)
    })
  }
  if (/[Rr]evert/.test(hint)) {
    commands.push(() => {
      for (const piece of world.manifests.get(name) ?? []) Object.assign(piece, piece.before, { before: undefined })
      world.write(name)
      return mint(world, name, changes, hints)
    })
  }
  return commands
}

/** Runs `batch mint` with random flags. */
export function mintWithFlags(world: World, name: string): Promise<string | null> {
  const changes: Changes = {}
  if (world.chance(0.15)) changes.runName = world.any(RUN_NAMES)
  if (world.chance(0.06)) changes.adopt = true
  if (world.chance(0.08) && mayAddNewRows(world, name)) changes.newRows = true
  return mint(world, name, changes)
}

/** Runs `batch mint <row> --to <list>`. */
export async function mintList(world: World, name: string): Promise<string | null> {
  const { row, list, options } = world.writeList(name)
  const stored = { source: { path: list }, merge: false, skipsContracts: false }
  const readManifest = () => readListRows(row, stored, { blockchain: 'polygon', localFiles: true })
  const shown = `mint ${name} --to ${JSON.stringify(world.lists.get(name))}`
  try {
    const pacer = world.chance(0.15) ? { pacer: stoppingPacer(world.pick(3)) } : {}
    const all = { ...options, listingWait: LISTING_WAIT, newRows: world.chance(0.3) }
    const summary = await world.machine.run(world.server, null, all, { readManifest, ...pacer })
    said(world, shown, `list: exit ${summary.exitCode}`, JSON.stringify(summary.counts))
    if (summary.exitCode !== 0) return null
    return world.lostReceiver(name) ?? (await world.lostResult(summary))
  } catch (error) {
    refusalOf(world, shown, error)
    return null
  }
}

/** Runs `batch resume`, `batch retry` or `batch reconcile` for any run. */
export async function resume(world: World): Promise<string | null> {
  const runs = await listRuns(world.machine.stateDir)
  if (runs.length === 0) return null
  const run = world.any(runs)
  const changes = world.any([{}, { retryFailed: true }, { retryAbsent: true }, { reconcileOnly: true }])
  const { manifestPath, generation, runName } = run
  const shown = `resume ${run.name} ${JSON.stringify(changes)}`
  const options = { manifestPath, generation, runName: runName ?? undefined, listingWait: LISTING_WAIT, ...changes }
  try {
    const summary = await world.machine.run(world.server, null, options)
    said(world, shown, `resume: exit ${summary.exitCode}`, JSON.stringify(summary.counts))
    return summary.exitCode === 0 ? await world.lostResult(summary) : null
  } catch (error) {
    refusalOf(world, shown, error)
    return null
  }
}

/** Runs `batch rm` for a run that has sent nothing. */
export async function remove(world: World): Promise<null> {
  const { stateDir } = world.machine
  const runs = await listRuns(stateDir)
  if (runs.length === 0) return null
  const run = world.any(runs)
  const { deployed, accepted, unknown } = (await runStatus(run)).counts
  if (deployed + accepted + unknown > 0) return null
  try {
    await removeRun(await openRun(stateDir, run.id))
    said(world, `rm ${run.name}`, 'removed')
  } catch (error) {
    refusalOf(world, `rm ${run.name}`, error)
  }
  return null
}
