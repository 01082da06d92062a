import { basename, extname } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import type { BatchOptions, RunRef } from '../types.ts'

/** The fields that identify a run. They never contain the API key or the content of the manifest. */
export type RunIdentity = Pick<BatchOptions, 'origin' | 'blockchain' | 'contractAddress' | 'manifestPath' | 'runName'>

const ID_DIGITS = 16
const SHORT_DIGITS = 4

const hash = (parts: readonly (string | number)[]): string => sha256Hex(JSON.stringify(parts)).slice(0, ID_DIGITS)

/** Returns the ID that all drops of one run share. */
export function familyId(identity: RunIdentity): string {
  const { origin, blockchain, contractAddress, manifestPath, runName } = identity
  if (runName === undefined && manifestPath === null) {
    throw new GdnError('usage', 'rows from standard input need a run name, so that the run can be resumed', {
      place: { flag: '--run' },
      hint: 'Add --run <name>.',
    })
  }
  const nameParts = runName === undefined ? ['file', manifestPath ?? ''] : ['name', runName]
  return hash([origin, blockchain, contractAddress.toLowerCase(), ...nameParts])
}

/** Returns the ID and name of a run. For example, the name is `drop-3f9a` for `drop.csv`. */
export function runRef(identity: RunIdentity, generation: number): RunRef {
  const id = hash([familyId(identity), generation])
  const path = identity.manifestPath ?? ''
  const base = identity.runName ?? basename(path, extname(path))
  const slug = base.replace(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 40) || 'run'
  return { id, name: `${slug}-${id.slice(0, SHORT_DIGITS)}` }
}
