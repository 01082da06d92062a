import { existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { basename, extname, resolve, sep } from 'node:path'
import { isSameAddress } from '../../api/same-address.ts'
import { GdnError } from '../../core/errors.ts'
import { seemsActive } from '../../core/lock-holder.ts'
import { shellWord } from '../../core/shell-word.ts'
import {
  type Drop,
  isUnrevealed,
  listDrops,
  listFamilyDrops,
  readDrop,
  readStoredList,
  updateDrop,
} from '../../state/drops.ts'
import { openStateIfExists, type StateReader, withState } from '../../state/open-state.ts'
import { areAllRevealed, countBurned } from '../../state/row-outcomes.ts'
import { areSameRows } from '../../state/rows.ts'
import { commandRuns } from '../../state/runs.ts'
import { countRowsByStatus, noCounts } from '../rows/row-counts.ts'
import type { BatchOptions, Run, RunStatus } from '../types.ts'
import { formatTakeoverFlags, resolveFamily } from './moved-run.ts'

export type { Run }

/** The server to which a search for runs is limited. */
export interface ServerOfRuns {
  /** The server's name in messages. */
  name: string
  has(run: Pick<Run, 'origin' | 'backendId'> & { url: string | null }): boolean
}

async function toRun(stateDir: string, drop: Drop): Promise<Run> {
  return {
    stateDir,
    family: drop.family,
    id: drop.id,
    name: drop.name,
    origin: drop.origin,
    url: drop.url,
    backendId: drop.backend.id,
    blockchain: drop.blockchain,
    contractAddress: drop.contract,
    manifestPath: drop.manifest,
    runName: drop.runName,
    generation: drop.generation,
    chunkSize: drop.chunkSize,
    inOrder: drop.inOrder,
    startedAt: new Date(drop.startedAt).toISOString(),
    reading: drop.reading,
    running: drop.holder !== null && (await seemsActive(drop.holder, drop.beatAt)),
  }
}

/** Reads from the state. Returns `fallback` if there is no state yet. */
async function withReadState<Value>(
  stateDir: string,
  fallback: Value,
  task: (state: StateReader) => Promise<Value>,
): Promise<Value> {
  const state = await openStateIfExists(stateDir)
  if (state === null) return fallback
  try {
    return await task(state)
  } finally {
    state.close()
  }
}

/** Returns the cost limit in wei that this machine stores for a run, or null if there is none. */
export const keptMaxCost = async (stateDir: string, id: string): Promise<bigint | null> =>
  await withReadState(stateDir, null, async (state) => (await state.read((sql) => readDrop(sql, id)))?.maxCost ?? null)

/** Stores the cost limit of a run, in wei, so that a later command doesn't lower the limit on the server. */
export async function storeRunMaxCost(stateDir: string, id: string, wei: bigint): Promise<void> {
  await withState(stateDir, (state) => state.write((sql) => updateDrop(sql, id, { max_cost: String(wei) })))
}

/** Stores the seal or the draw of a shuffled drop for later commands. Null removes a seal. */
export async function storeShuffle(
  stateDir: string,
  id: string,
  shuffle: { seal?: object | null; draw?: object },
): Promise<void> {
  await withState(stateDir, (state) =>
    state.write((sql) => {
      const { reading } = readDrop(sql, id) ?? {}
      updateDrop(sql, id, { reading: JSON.stringify({ ...reading, ...shuffle }) })
    }),
  )
}

/**
 * Returns whether the state shows that each row of an unrevealed drop is revealed or burned. In a drawn drop, rows
 * without an NFT are abandoned and don't count.
 */
export const isRevealedHere = async ({ stateDir, id }: Pick<Run, 'stateDir' | 'id'>): Promise<boolean> =>
  await withReadState(stateDir, false, (state) =>
    state.read((sql) => {
      const drop = readDrop(sql, id)
      return drop !== null && areAllRevealed(sql, drop, drop.reading.draw !== undefined)
    }),
  )

/**
 * Returns the generation of a manifest's latest unrevealed run if a later run with --again has exactly the same rows.
 * Returns undefined otherwise.
 */
export const repeatedGeneration = async (options: BatchOptions): Promise<number | undefined> =>
  await withReadState(options.stateDir, undefined, (state) =>
    state.read((sql) => {
      const drops = listFamilyDrops(sql, resolveFamily(sql, options)).filter(({ setId }) => setId !== null)
      const [latest, hidden] = [drops.at(-1), drops.findLast(isUnrevealed)]
      if (latest?.setId == null || hidden?.setId == null || latest.id === hidden.id) return undefined
      return areSameRows(sql, latest.setId, hidden.setId) ? hidden.generation : undefined
    }),
  )

/** Returns the runs of a state directory, newest first. */
export async function listRuns(stateDir: string): Promise<Run[]> {
  return await withReadState<Run[]>(stateDir, [], async (state) => {
    const drops = await state.read(listDrops)
    return await Promise.all(drops.map((drop) => toRun(stateDir, drop)))
  })
}

/**
 * Finds the run that `wanted` identifies. Compares `wanted` with, in this order, the run's ID and name, the path of its
 * manifest, its `--run` name, its list of receivers, the manifest's file name, and the beginning of the run's ID. If
 * the run has several drops, returns the newest. If `wanted` is the path of an existing file or of a run's manifest,
 * doesn't compare it with file names. Manifests with the same name in other folders are different manifests. The former
 * file name of a renamed manifest also counts.
 *
 * @param server limits the search to runs of this server
 * @param collection limits the search to runs in this collection
 * @param contract selects one of several matching runs
 * @param cwd the base of a relative path. Default: the working directory of the process
 * @param serverFlags returns the flags with which other commands reach a run's server, such as ` --local`
 * @throws GdnError `not_found_locally` if no run matches or if several match. `details` lists the runs to choose from,
 *   if there are any
 */
export async function openRun(
  stateDir: string,
  nameOrPath: string,
  { server, collection, contract, cwd = '', serverFlags = async () => '' }: RunSearch = {},
): Promise<Run> {
  const all = await listRuns(stateDir)
  const path = resolve(cwd, nameOrPath)
  const realPath = await realpath(path).catch(() => path)
  const limits = { server, collection }
  const runs = all.filter((run) => matchesFilter(run, limits))
  // A run without a --run name is identified by its manifest.
  const unnamed = new Set(runs.flatMap(({ runName, manifestPath }) => (runName === null ? manifestPath : [])))
  const isOf = ({ runName, manifestPath }: Run, fits: (path: string) => boolean): boolean =>
    manifestPath !== null && fits(manifestPath) && (runName === null || !unnamed.has(manifestPath))
  const exact: ((run: Run) => boolean)[] = [
    ({ id, name }) => id === nameOrPath || name === nameOrPath,
    (run) => isOf(run, (manifest) => manifest === realPath),
    (run) => run.runName === nameOrPath && !hasFormerName(run),
    (run) => [realPath, nameOrPath].includes(readStoredList(run)?.path ?? ''),
  ]
  const byName: typeof exact = [
    (run) => run.runName === nameOrPath || isOf(run, (manifest) => matchesFileName(nameOrPath, manifest)),
    ({ id }) => nameOrPath.length >= 4 && id.startsWith(nameOrPath),
  ]
  const find = (ways: typeof exact) =>
    ways.map((isMatch) => runs.filter(isMatch)).find((matching) => matching.length > 0)
  const candidates =
    find(exact) ??
    (await refuseOtherPaths({ wanted: nameOrPath, path, realPath, all, limits, serverFlags })) ??
    find(byName) ??
    []
  const runsOfContract =
    contract === undefined ? [] : candidates.filter((run) => isSameAddress(run.contractAddress, contract))
  const fits = runsOfContract.length > 0 ? runsOfContract : candidates
  const [newest] = fits
  if (newest === undefined) {
    const commands = await withReadState(stateDir, [], (state) => state.read(commandRuns))
    throw commands.some(({ id, name }) => id === nameOrPath || name === nameOrPath)
      ? notAManifestRunError(nameOrPath)
      : noSuchRunError(nameOrPath, limits)
  }
  const families = new Set(fits.map(({ family }) => family))
  if (families.size === 1) return newest
  throw new GdnError('not_found_locally', `${nameOrPath} matches several runs:\n${fits.map(describeRun).join('\n')}`, {
    hint: formatSelectionHint(fits, newest),
    details: detailsOf(fits),
  })
}

type ServerFlagsOf = (run: Run) => Promise<string>

interface RunSearch extends RunFilter {
  contract?: string | undefined
  cwd?: string
  serverFlags?: ServerFlagsOf
}

interface RunFilter {
  server?: ServerOfRuns | undefined
  collection?: string | undefined
}

/** Returns whether a run is on the server and in the collection to which a search is limited. */
export const matchesFilter = (run: Run, { server, collection }: RunFilter): boolean =>
  (server === undefined || server.has(run)) &&
  (collection === undefined || isSameAddress(run.contractAddress, collection))

/**
 * Throws if the path is an existing file or belongs to a run of any server. In these cases, the file name must not
 * match a run with another path.
 */
async function refuseOtherPaths({
  wanted: nameOrPath,
  path,
  realPath,
  all,
  limits: { server, collection },
  serverFlags,
}: {
  wanted: string
  path: string
  realPath: string
  all: readonly Run[]
  limits: RunFilter
  serverFlags: ServerFlagsOf
}): Promise<undefined> {
  const file = shownPath(nameOrPath)
  const ofPath = all.filter(({ manifestPath }) => manifestPath === realPath)
  const [newest] = ofPath
  if (newest !== undefined) {
    const inCollection = collection === undefined ? '' : ` in the collection ${collection}`
    const where = server === undefined ? inCollection : ` on ${server.name}${inCollection}`
    throw new GdnError(
      'not_found_locally',
      `${file} has no run${where}, but has these runs:\n${ofPath.map(describeRun).join('\n')}`,
      {
        hint: [
          `Use the ID of a run, such as ${newest.id}.`,
          ...(server === undefined ? [] : [SELECT_SERVER_HINT]),
          ...(collection === undefined ? [] : [`To select the collection, use --contract ${newest.contractAddress}.`]),
        ].join(' '),
        details: detailsOf(ofPath),
      },
    )
  }
  const isFile = await stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  )
  if (!isFile) return
  const name = basename(nameOrPath)
  const namesakes = all.filter(
    ({ manifestPath, runName }) => runName === name || (manifestPath !== null && matchesFileName(name, manifestPath)),
  )
  const [other] = namesakes
  throw new GdnError('not_found_locally', `there is no run of ${file} on this machine`, {
    hint: await (other === undefined
      ? formatRenamedHint(file, all, serverFlags)
      : formatFileHint(file, other, namesakes, serverFlags)),
    details: namesakes.length === 0 ? undefined : detailsOf(namesakes),
  })
}

const lacksManifest = ({ manifestPath }: Run): boolean => manifestPath !== null && !existsSync(manifestPath)

const MAX_RENAMED_HINTS = 3

/** Returns the hint for a file that may be the renamed manifest of a run. */
async function formatRenamedHint(file: string, all: readonly Run[], serverFlags: ServerFlagsOf): Promise<string> {
  const isNewest = (run: Run) => run === all.find(({ family }) => family === run.family)
  const gone = all.filter((run) => isNewest(run) && lacksManifest(run)).slice(0, MAX_RENAMED_HINTS)
  const lists = all.filter((run) => isNewest(run) && readStoredList(run) !== null).slice(0, MAX_RENAMED_HINTS)
  if (gone.length === 0 && lists.length > 0) {
    return ['These runs have a list of receivers:', ...lists.map(describeRun), NO_RUN_HINT].join('\n')
  }
  if (gone.length === 0) return NO_RUN_HINT
  const commands = gone.map(
    async (run) => `  ${run.name} (${run.manifestPath}): ${howToStorePath(file, run, await serverFlags(run))}`,
  )
  return [
    'The manifests of these runs no longer exist. If one of them was renamed to this file, run the command on its line:',
    ...(await Promise.all(commands)),
    `To start a run of this file, run \`gdn batch mint ${shellWord(file)} -c <collection>\`. ${LIST_RUNS_HINT}`,
  ].join('\n')
}

/** Returns the command that shows the changes of a moved manifest, and stores its new path with the run. */
function howToStorePath(
  file: string,
  { runName, manifestPath: manifest, contractAddress, blockchain }: Run,
  serverFlags: string,
): string {
  const runFlags =
    runName === null && basename(manifest ?? '') === basename(file)
      ? '--adopt'
      : formatTakeoverFlags({ runName, manifest })
  return `gdn apply ${shellWord(file)} ${runFlags} -c ${contractAddress} -b ${blockchain}${serverFlags}`
}

/** Returns the hint for a file that has the same name as other runs or their manifests. */
async function formatFileHint(
  file: string,
  newest: Run,
  namesakes: readonly Run[],
  serverFlags: ServerFlagsOf,
): Promise<string> {
  const mint = `gdn batch mint ${shellWord(file)} -c <collection>`
  const gone = namesakes.filter(lacksManifest).slice(0, MAX_RENAMED_HINTS)
  const moves = gone.map(
    async (run) =>
      `If the file was moved from ${run.manifestPath}, run \`${howToStorePath(file, run, await serverFlags(run))}\`.`,
  )
  return [
    'These runs have this name, or belong to files with this name in other folders:',
    ...namesakes.map(describeRun),
    `To use one of these runs, specify its ID, such as ${newest.id}, or the path of its manifest.`,
    `To start a run of this file, run \`${mint}\`.`,
    ...(await Promise.all(moves)),
  ].join('\n')
}

/** Returns a path in a form that can't be mistaken for the name of a run. */
const shownPath = (path: string): string => (basename(path) === path ? `.${sep}${path}` : path)

const detailsOf = (runs: readonly Run[]) => ({
  runs: runs.map((run) => ({ run: run.name, run_id: run.id, server: run.url })),
})

/** Returns the hint on how to select one of the matching runs. */
function formatSelectionHint(fits: readonly Run[], newest: Run): string {
  const differ = (fieldOf: (run: Run) => string | null) => new Set(fits.map(fieldOf)).size > 1
  const byName =
    newest.runName !== null && differ(({ runName }) => runName) ? ` or its name, such as ${newest.name}` : ''
  const byPath = differ(({ manifestPath }) => manifestPath) ? ', or the path of its manifest' : ''
  return [
    `Use the ID of a run, such as ${newest.id}${byName}${byPath}.`,
    ...(differ(({ origin }) => origin) ? [SELECT_SERVER_HINT] : []),
    ...(differ(({ contractAddress }) => contractAddress) ? [SELECT_COLLECTION_HINT] : []),
  ].join(' ')
}

const SELECT_SERVER_HINT = 'To select the server, add --local or --base-url <url>.'
const SELECT_COLLECTION_HINT = 'To select the collection, add --contract <address>.'

const MANIFEST_EXTENSION = /\.(csv|tsv|json|jsonl|ndjson)$/i
const LIST_RUNS_HINT = 'Run `gdn batch list` to list the runs.'

const NO_RUN_HINT = `${LIST_RUNS_HINT}\nRun \`gdn batch mint\` with the manifest to start a run. gdn also finds the NFTs that another machine minted. The records of a run are only on the machine that started it, but \`gdn plan\` and \`gdn nft verify\` work on any machine. On a server without reference IDs, add --adopt.`

const noSuchRunError = (nameOrPath: string, { server, collection }: RunFilter) =>
  new GdnError(
    'not_found_locally',
    `there is no run ${nameOrPath} on this machine${server === undefined ? '' : ` that belongs to ${server.name}`}${collection === undefined ? '' : ` in the collection ${collection}`}`,
    {
      hint: MANIFEST_EXTENSION.test(nameOrPath) ? NO_RUN_HINT : LIST_RUNS_HINT,
    },
  )

const notAManifestRunError = (nameOrPath: string) =>
  new GdnError('not_found_locally', `${nameOrPath} is a single command, not a run of a manifest`, {
    hint: `Run \`gdn batch status ${nameOrPath}\` to show the command. To resume it, run the same command again.`,
  })

/** Describes a run on one line, including everything that distinguishes it from runs with similar names. */
function describeRun(run: Run): string {
  const { id, name, url, blockchain, contractAddress, startedAt, generation, manifestPath } = run
  const number = generation === 1 ? '' : `, run ${generation}`
  const list = readStoredList(run)
  const to = list === null ? '' : ` to ${list.path ?? 'a list from standard input'}`
  return `${id}  ${name}  ${startedAt.slice(0, 16).replace('T', ' ')}${number}, ${contractAddress} on ${blockchain}, ${url}, ${manifestPath ?? 'standard input'}${to}`
}

/** Returns whether the run's `--run` name is the former file name of its renamed manifest. */
const hasFormerName = ({ runName, manifestPath }: Run): boolean =>
  runName !== null && manifestPath !== null && extname(runName) !== '' && basename(runName) !== basename(manifestPath)

const matchesFileName = (nameOrPath: string, path: string): boolean =>
  nameOrPath === basename(path) || nameOrPath === basename(path, extname(path))

/** Returns a run with its row counts by status, even while a process is working on the run. */
export async function runStatus({ stateDir, ...info }: Run): Promise<RunStatus> {
  const [status] = await runStatuses(stateDir, [{ ...info, stateDir }])
  return status ?? { ...info, counts: noCounts(), burned: 0 }
}

/** Returns several runs with their row counts by status. */
export async function runStatuses(stateDir: string, runs: readonly Run[]): Promise<RunStatus[]> {
  return await withReadState<RunStatus[]>(stateDir, [], async (state) => {
    const statuses: RunStatus[] = []
    for (const { stateDir: _, ...info } of runs) {
      const rowCounts = await state.read((sql) => {
        const drop = readDrop(sql, info.id)
        const counts = drop === null ? noCounts() : countRowsByStatus(sql, drop, info.running)
        return { counts, burned: countBurned(sql, info.id) }
      })
      statuses.push({ ...info, ...rowCounts })
    }
    return statuses
  })
}
