import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { changeBodies } from '../../state/change-bodies.ts'
import { listCollectionIds } from '../../state/collections.ts'
import { type Drop, isListDrop, listDrops, listFamilyDrops, moveFamily } from '../../state/drops.ts'
import { withState } from '../../state/open-state.ts'
import { deleteRun } from '../../state/runs.ts'
import { referenceScope } from '../rows/row-key.ts'
import { parseRowParts, rowTexts, splitRowText } from '../rows/row-text.ts'
import type { BatchOptions } from '../types.ts'
import { formatMintListHint } from './how-to-resume.ts'
import { familyId } from './run-identity.ts'

/** Returns this machine's drops in the collection that the options specify, newest first. */
export function listCollectionDrops(
  sql: Sql,
  { origin, backend, blockchain, contractAddress: contract }: BatchOptions,
): Drop[] {
  const collections = new Set(listCollectionIds(sql, { origin, backendId: backend?.id ?? null, blockchain, contract }))
  return listDrops(sql).filter(({ collectionId }) => collections.has(collectionId))
}

type RunIdentity = Pick<Drop, 'runName' | 'manifest'>

const sharedScope = ({ runName, manifest }: RunIdentity): string => referenceScope({ runName, manifest, order: null })

type DropWithManifest = Drop & { manifest: string }

/** The newest drops of runs whose manifest no longer exists. The given manifest may be the same file at a new path. */
interface RunsWithoutManifest {
  /** Runs whose rows have the same reference IDs. Their manifests may have been moved. */
  moved: DropWithManifest[]
  /**
   * Other runs. Their manifests may have been renamed, or moved after a mint with a `--run` name that this command
   * doesn't have.
   */
  renamed: DropWithManifest[]
}

/**
 * Returns the runs of a collection whose manifest no longer exists and may have been moved to the path in the options.
 * Returns none if the state already has the run that the options specify. Without --run, returns only the runs whose
 * manifest path has the longest suffix in common with the new path. For example, `a/jan/drop.csv` may be the former
 * `jan/drop.csv`, but not `feb/drop.csv`.
 */
function runsWithoutManifest(sql: Sql, options: BatchOptions): RunsWithoutManifest {
  const { manifestPath, runName = null } = options
  if (manifestPath === null || listFamilyDrops(sql, familyId(options)).some(({ setId }) => setId !== null)) {
    return { moved: [], renamed: [] }
  }
  const scope = sharedScope({ runName, manifest: manifestPath })
  const isMoved = (drop: RunIdentity) => sharedScope(drop) === scope
  const newest = new Map<string, DropWithManifest>()
  for (const drop of listCollectionDrops(sql, options).toReversed()) {
    const { manifest, family, setId } = drop
    if (manifest === null || (setId === null && !isMoved(drop)) || existsSync(manifest)) continue
    newest.set(family, { ...drop, manifest })
  }
  const dropsWithoutManifest = [...newest.values()]
  const moved = dropsWithoutManifest.filter(isMoved)
  const renamed = dropsWithoutManifest.filter((drop) => !isMoved(drop))
  if (runName !== null) return { moved: selectLongestCommonSuffix(manifestPath, moved), renamed }
  const likeliestDrops = new Set(selectLongestCommonSuffix(manifestPath, dropsWithoutManifest))
  return {
    moved: moved.filter((drop) => likeliestDrops.has(drop)),
    renamed: renamed.filter((drop) => likeliestDrops.has(drop)),
  }
}

/** Returns the drops whose manifest path has the longest suffix in common with `path`. */
function selectLongestCommonSuffix<One extends RunIdentity>(path: string, drops: readonly One[]): One[] {
  const commonSegmentCounts = drops.map(({ manifest }) => countCommonSegments(manifest ?? '', path))
  const maxCount = Math.max(...commonSegmentCounts)
  return drops.filter((_, index) => commonSegmentCounts[index] === maxCount)
}

/**
 * Returns the family ID of a run, from the run's name or the manifest's path. With `adopt`, returns the family ID of
 * the run whose manifest was moved to this path.
 *
 * @throws GdnError `usage` if the manifests of several runs may have been moved to this path
 */
export function resolveFamily(sql: Sql, options: BatchOptions): string {
  const ownFamily = familyId(options)
  if (options.adopt !== true || options.again === true) return ownFamily
  const { moved, renamed } = runsWithoutManifest(sql, options)
  const [first] = moved
  if (first === undefined) return ownFamily
  const all = options.runName === undefined ? [...moved, ...renamed] : moved
  if (all.length === 1) return first.family
  const runs = all.map(({ name, manifest }) => `\n  ${name} (${manifest})`).join('')
  const names = all.map((drop) => `--run ${runFlagValue(drop)}`)
  throw new GdnError(
    'usage',
    `the manifests of several runs no longer exist, and this manifest may be any of them:${runs}`,
    {
      place: { flag: '--adopt' },
      hint: `Nothing was sent. ${moved.length === 1 ? `Choose one: add ${names.join(' or ')}.` : 'First, move the other manifests back to their original paths.'}`,
    },
  )
}

/** Returns the value of --run with which a command takes over a run. */
const runFlagValue = ({ runName, manifest }: RunIdentity): string => shellWord(runName ?? basename(manifest ?? ''))

/**
 * Returns the newest drops of the runs whose manifest may have been moved to this path. Their rows have the same
 * reference IDs, and their recorded manifest no longer exists. If there are several such runs, returns those whose
 * manifest path has the longest suffix in common with the new path. Returns none if the new path belongs to a run in
 * the state, or if a run with other reference IDs has a more similar path.
 */
export const movedRuns = (sql: Sql, options: BatchOptions): Drop[] => runsWithoutManifest(sql, options).moved

const MAX_RENAMED_NOTES = 3

/**
 * Returns notes on the runs whose manifests may have been renamed to the manifest in the options. With `adopt`, if this
 * collection has no run to take over, returns notes on such runs of other collections.
 */
export function readRenamedRunNotes(sql: Sql, options: BatchOptions): string[] {
  const { moved, renamed } = runsWithoutManifest(sql, options)
  if (options.adopt === true && moved.length + renamed.length === 0) return notesOfOtherCollections(sql, options)
  return renamed.slice(0, MAX_RENAMED_NOTES).map((drop) => {
    const { name, manifest } = drop
    return `The manifest of the run ${name} no longer exists: ${manifest}. If it was ${describeMove(manifest, options)} to this path, add ${formatTakeoverFlags(drop)}`
  })
}

function notesOfOtherCollections(sql: Sql, options: BatchOptions): string[] {
  const { manifestPath } = options
  if (manifestPath === null || listFamilyDrops(sql, familyId(options)).some(({ setId }) => setId !== null)) return []
  const own = new Set(listCollectionDrops(sql, options).map(({ id }) => id))
  const families = new Map<string, string>()
  for (const { id, family, name, manifest, contract, blockchain, setId } of listDrops(sql).toReversed()) {
    if (own.has(id) || setId === null || manifest === null || basename(manifest) !== basename(manifestPath)) continue
    if (existsSync(manifest)) continue
    families.set(
      family,
      `The manifest of the run ${name} no longer exists: ${manifest}. The run is in another collection. If the manifest was moved to this path, use -c ${contract} -b ${blockchain}`,
    )
  }
  return [...families.values()].slice(0, MAX_RENAMED_NOTES)
}

/**
 * Returns the flags with which a command takes over a run. A run with a name finds its moved manifest without
 * `--adopt`.
 */
export const formatTakeoverFlags = (drop: RunIdentity): string =>
  `--run ${runFlagValue(drop)}${drop.runName === null ? ' --adopt' : ''}`

const describeMove = (from: string, { manifestPath }: Pick<BatchOptions, 'manifestPath'>): string =>
  basename(from) === basename(manifestPath ?? '') ? 'moved' : 'renamed'

/** Returns a note that the manifest may have been renamed since it was minted on another machine. */
export const formatUnmatchedNftsNote = (nftCount: number): string =>
  `The collection has ${count(nftCount, 'NFT')} without a row in this manifest. If the manifest was renamed after its rows were minted, add --run <former file name>`

/** Returns the number of path segments that two paths have in common at the end. */
function countCommonSegments(path: string, other: string): number {
  const names = path.split(sep).toReversed()
  const otherNames = other.split(sep).toReversed()
  const at = names.findIndex((name, index) => name !== otherNames[index])
  return at === -1 ? names.length : at
}

/**
 * Returns the former path of a run's manifest if the manifest was moved to the path in the options, or null. A run with
 * a name finds its moved manifest without `adopt`.
 */
export function formerPath({ manifest, setId }: Drop, { adopt, manifestPath, runName }: BatchOptions): string | null {
  if ((adopt !== true && runName === undefined) || setId === null || manifest === null || manifestPath === null)
    return null
  return manifest === manifestPath || existsSync(manifest) ? null : manifest
}

/**
 * Stores the current path and name of the manifest in all drops of its run, so that later commands find the run. Also
 * updates the paths of local files that were moved with the manifest, because no other record has their old folder.
 */
export function moveRun(sql: Sql, from: string, options: BatchOptions): void {
  const { manifestPath, runName = null } = options
  const ownFamily = familyId(options)
  // Remove drops without rows, which remain if a process ends early.
  if (ownFamily !== from)
    for (const { id, setId } of listFamilyDrops(sql, ownFamily)) if (setId === null) deleteRun(sql, id)
  for (const drop of listFamilyDrops(sql, from)) {
    if (manifestPath === null || drop.manifest === null) continue
    const [folder, to] = [`${dirname(drop.manifest)}${sep}`, dirname(manifestPath)]
    if (folder !== to + sep) changeBodies(sql, drop, folder, (body) => withMovedFiles(body, folder, to))
  }
  moveFamily(sql, from, { family: ownFamily, manifest: manifestPath, runName })
}

/** Returns the text of a row whose local files were moved from one folder to another. */
function withMovedFiles(body: Uint8Array, folder: string, to: string): Uint8Array {
  const row = parseRowParts(splitRowText(body))
  const localFiles = row.localFiles.map(({ key, path }) => ({
    key,
    path: path.startsWith(folder) ? join(to, relative(folder, path)) : path,
  }))
  return Buffer.from(rowTexts({ line: 0, id: null, ...row, localFiles }).kept)
}

/**
 * Stores the current path and name of the manifest in all drops of its run, for a command that hasn't acquired the run.
 *
 * @throws GdnError `usage`, `data_dir`
 */
export async function storeManifestMove(options: BatchOptions): Promise<void> {
  await withState(options.stateDir, (state) => state.write((sql) => moveRun(sql, resolveFamily(sql, options), options)))
}

/** Returns the hint on how to use the run `other` if it has the same manifest under another name, or null otherwise. */
export function formatSameManifestHint(drop: Drop, other: Drop, { serverFlags = '' }: BatchOptions): string | null {
  const { manifest, runName } = drop
  if (other.runName === null || other.runName === runName) return null
  if (manifest === null || other.manifest !== manifest) return null
  if (!isListDrop(drop) && isListDrop(other)) return formatMintListHint(other, serverFlags)
  const purpose =
    isListDrop(drop) && isListDrop(other)
      ? "mint only to receivers who don't have this NFT yet"
      : 'use the run of this manifest'
  return `To ${purpose}, add --run ${shellWord(other.runName)}.`
}

/**
 * Returns the hint on how to take over the NFTs of another run whose manifest may have been moved to this run's
 * manifest. If a third run is more likely to have had this manifest, the hint is about that run.
 *
 * @param all the runs of the collection
 * @returns null if both runs have the same file, or if one was read from standard input
 */
export function formatMoveHint(drop: RunIdentity, other: RunIdentity, all: readonly RunIdentity[]): string | null {
  const { manifest } = other
  if (manifest === null || drop.manifest === null || manifest === drop.manifest) return null
  if (existsSync(manifest))
    return `The run of ${manifest} can't use this manifest, because the manifest of the run still exists.`
  const runsWithoutFile = all.filter((candidate) => candidate.manifest !== null && !existsSync(candidate.manifest))
  const likelySources = drop.runName === null ? selectLongestCommonSuffix(drop.manifest, runsWithoutFile) : [other]
  const source = likelySources.includes(other) ? other : (likelySources[0] ?? other)
  if (sharedScope(drop) === sharedScope(source)) return 'If this manifest was moved, add --adopt.'
  return `If this manifest was ${describeMove(source.manifest ?? '', { manifestPath: drop.manifest })}, add ${formatTakeoverFlags(source)}.`
}
