import { existsSync } from 'node:fs'
import { basename, sep } from 'node:path'
import { GdnError } from '../core/errors.ts'
import { shellWord } from '../core/shell-word.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { collectionsOf } from '../state/collections.ts'
import { type Drop, dropsOf, listDrops, moveFamily } from '../state/drops.ts'
import { openState } from '../state/open-state.ts'
import { removeRun } from '../state/runs.ts'
import { referenceScope } from './row-key.ts'
import { familyId } from './run-identity.ts'
import type { BatchOptions } from './types.ts'

/** Returns the runs of this machine in the collection of a run, newest first. */
export function dropsIn(sql: Sql, { origin, backend, blockchain, contractAddress: contract }: BatchOptions): Drop[] {
  const collections = new Set(collectionsOf(sql, { origin, backendId: backend?.id ?? null, blockchain, contract }))
  return listDrops(sql).filter(({ collectionId }) => collections.has(collectionId))
}

type Named = Pick<Drop, 'runName' | 'manifest'>

const sharedScope = ({ runName, manifest }: Named): string => referenceScope({ runName, manifest, order: null })

/**
 * Returns the family of a run: that of its name or path, or with `adopt` that of the run whose manifest was moved here.
 *
 * @throws GdnError `usage` if several may have been moved here
 */
export function familyOf(sql: Sql, options: BatchOptions): string {
  const own = familyId(options)
  if (options.adopt !== true || options.again === true) return own
  const [moved, ...others] = movedRuns(sql, options)
  if (moved === undefined) return own
  if (others.length === 0) return moved.family
  const runs = [moved, ...others].map(({ name, manifest }) => `\n  ${name} (${manifest})`).join('')
  throw new GdnError('usage', `the manifests of several runs are gone, and each may be this one:${runs}`, {
    place: { flag: '--adopt' },
    hint: 'Nothing was sent. Move the others back first.',
  })
}

/**
 * Returns the newest drop of the run whose manifest was moved to the path of this one: its rows have the same reference
 * IDs, and its manifest is gone. Of several, its path ends most like the new one; where that decides nothing, all of
 * them. None where the run is known under the new path.
 */
export function movedRuns(sql: Sql, options: BatchOptions): Drop[] {
  const { manifestPath, runName = null } = options
  const own = familyId(options)
  if (manifestPath === null || dropsOf(sql, own).some(({ setId }) => setId !== null)) return []
  const wanted = sharedScope({ runName, manifest: manifestPath })
  const newest = new Map<string, Drop & { manifest: string }>()
  for (const drop of dropsIn(sql, options).toReversed()) {
    const { manifest, family } = drop
    if (manifest === null || sharedScope(drop) !== wanted) continue
    if (!existsSync(manifest)) newest.set(family, { ...drop, manifest })
  }
  const found = [...newest.values()].map((drop) => ({ drop, alike: commonEnd(drop.manifest, manifestPath) }))
  const most = Math.max(...found.map(({ alike }) => alike))
  return found.filter(({ alike }) => alike === most).map(({ drop }) => drop)
}

/**
 * Returns the newest drop of each run whose manifest is gone and has another name, if this run is new: the manifest may
 * have been renamed.
 */
export function renamedRuns(sql: Sql, options: BatchOptions): (Drop & { manifest: string })[] {
  const { manifestPath, runName = null } = options
  if (manifestPath === null || dropsOf(sql, familyId(options)).some(({ setId }) => setId !== null)) return []
  const wanted = sharedScope({ runName, manifest: manifestPath })
  const newest = new Map<string, Drop & { manifest: string }>()
  for (const drop of dropsIn(sql, options).toReversed()) {
    const { manifest, setId, family } = drop
    if (manifest === null || setId === null || sharedScope(drop) === wanted || existsSync(manifest)) continue
    newest.set(family, { ...drop, manifest })
  }
  return [...newest.values()]
}

const MAX_RENAMED = 3

/** Returns notes for people that name the runs whose manifests may have been renamed to this one. */
export const notesOfRenamed = (sql: Sql, options: BatchOptions): string[] =>
  renamedRuns(sql, options)
    .slice(0, MAX_RENAMED)
    .map(({ name, manifest, runName }) => {
      const run = shellWord(runName ?? basename(manifest))
      return `The run ${name} is of a manifest that is gone: ${manifest}. If it was renamed to this one, add --run ${run} --adopt`
    })

/** Says that a manifest may have been renamed since it was minted on another machine. */
export const noteOfUnnamed = (nfts: number): string =>
  `The collection has ${nfts === 1 ? '1 NFT' : `${nfts} NFTs`} without a row in this manifest. If it was renamed since its mint, add --run <former file name>`

/** The number of names that two paths end with. */
function commonEnd(path: string, other: string): number {
  const names = path.split(sep).toReversed()
  const others = other.split(sep).toReversed()
  const at = names.findIndex((name, index) => name !== others[index])
  return at === -1 ? names.length : at
}

/** Returns the path of a run's manifest before it was moved to that of the options; null if it wasn't. */
export function movedFrom({ manifest, setId }: Drop, { adopt, manifestPath }: BatchOptions): string | null {
  if (adopt !== true || setId === null || manifest === null || manifestPath === null) return null
  return manifest === manifestPath || existsSync(manifest) ? null : manifest
}

/** Gives all drops of a run the path and the name that its manifest has now. Later commands find it by these. */
export function moveRun(sql: Sql, from: string, options: BatchOptions): void {
  const { manifestPath, runName = null } = options
  const own = familyId(options)
  // Left by a process that ended before it entered any rows.
  if (own !== from) for (const { id, setId } of dropsOf(sql, own)) if (setId === null) removeRun(sql, id)
  moveFamily(sql, from, { family: own, manifest: manifestPath, runName })
}

/** Does the same for a command that doesn't hold the run. @throws GdnError `usage`, `data_dir` */
export async function storeMove(options: BatchOptions): Promise<void> {
  const state = await openState(options.stateDir)
  try {
    await state.write((sql) => moveRun(sql, familyOf(sql, options), options))
  } finally {
    state.close()
  }
}

/** Says how a command goes on with the run that took this manifest over under a name; null if it didn't. */
export const howToGoOn = ({ manifest, runName }: Named, other: Named): string | null =>
  other.runName !== null && other.runName !== runName && manifest !== null && other.manifest === manifest
    ? `To use the run that has this manifest, add --run ${shellWord(other.runName)}.`
    : null

/**
 * Says how a run takes over the NFTs of another one, whose manifest may be this one.
 *
 * @returns null where both are the same file, or one is from standard input
 */
export function howToMove(drop: Named, other: Named): string | null {
  const { manifest } = other
  if (manifest === null || drop.manifest === null || manifest === drop.manifest) return null
  if (existsSync(manifest)) return `This manifest can't take over that run, whose manifest is still there: ${manifest}`
  if (sharedScope(drop) === sharedScope(other)) return 'If this manifest was moved, add --adopt.'
  return `If this manifest was renamed, add --run ${shellWord(other.runName ?? basename(manifest))} --adopt.`
}
