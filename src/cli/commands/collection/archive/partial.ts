import { basename, dirname } from 'node:path'
import { type ArchivedCollection, ArchiveStore } from '../../../../archive/archive-store.ts'
import { GdnError, isInterruption, messageOf, systemCode } from '../../../../core/errors.ts'
import { shellWord } from '../../../../core/shell-word.ts'
import { fileProblem, isDamagedError } from '../../../../sqlite/sqlite-error.ts'
import { safe } from '../../../io/io.ts'
import type { ChainContract } from '../chain-contract.ts'

export interface ArchiveTarget {
  target: Pick<ChainContract, 'contract' | 'blockchain'>
  block: number | undefined
  wholeDirectory: boolean
}

/**
 * Calls `task` with the unfinished archive that belongs to a file, or with a new archive. Deletes this archive after
 * success. After a failure, keeps it if its token list is complete, so that the same command can resume.
 *
 * @throws GdnError `usage` if the unfinished archive has a different collection, block or `--whole-directory` option
 */
export async function openPartial<Result>(
  path: string,
  requested: ArchiveTarget,
  task: (store: ArchiveStore) => Promise<Result>,
): Promise<Result> {
  const partial = `${path}.partial`
  let remove = false
  try {
    const store = new ArchiveStore(partial)
    try {
      const archived = store.readCollection()
      const difference = archived === null ? null : findDifference(archived, requested)
      if (difference !== null) throw otherArchiveError(partial, difference)
      const result = await task(store)
      remove = true
      return result
    } catch (error) {
      // Remove an archive whose token list is incomplete. All tokens must be listed at the same block, so the list
      // can't be completed later.
      remove = store.readCollection() === null
      throw remove ? error : withResumeHint(error, partial)
    } finally {
      store.close({ remove })
    }
  } catch (error) {
    throw partialError(path, partial, error)
  }
}

function findDifference(archived: ArchivedCollection, { target, block, wholeDirectory }: ArchiveTarget): string | null {
  const { contract, blockchain } = archived
  if (contract !== target.contract || blockchain !== target.blockchain) return `of ${contract} on ${blockchain}`
  if (block !== undefined && archived.block.number !== block) return `of block ${archived.block.number}`
  if (archived.wholeDirectory === wholeDirectory) return null
  return archived.wholeDirectory ? 'with --whole-directory' : 'without --whole-directory'
}

const otherArchiveError = (partial: string, difference: string) =>
  new GdnError('usage', `${safe(partial)} is an unfinished archive ${difference}`, {
    place: { flag: '--to' },
    hint: `Finish the archive with the command that started it, use another file with --to, or run \`rm ${shellWord(partial)}\`.`,
  })

const mayResume = (error: GdnError) => isInterruption(error) || ['unreachable', 'bad_answer'].includes(error.code)

/** Adds the name of the unfinished archive to an error, because this file remains on disk. */
function withResumeHint(error: unknown, partial: string): unknown {
  if (!(error instanceof GdnError)) return error
  const keptText = `${safe(basename(partial))} contains the files that were read so far.`
  if (mayResume(error) && error.place === undefined)
    return error.with({ hint: `${keptText} Run the same command again to resume.` })
  return error.place?.flag === '--gateway' ? error.with({ hint: `${error.hint ?? ''} ${keptText}`.trim() }) : error
}

/** Converts an SQLite error, or the error of a missing directory, to an error that suggests a fix. */
function partialError(path: string, partial: string, error: unknown): unknown {
  if (error instanceof GdnError) return error
  const problem = fileProblem(error)
  if (problem === null && systemCode(error) !== 'ENOENT') return error
  const hint = isDamagedError(error)
    ? `Run \`rm ${shellWord(partial)}\`, and run the command again.`
    : `Fix the problem in ${shellWord(dirname(partial))}, and run the same command again.`
  const place = { file: problem === null ? path : partial }
  const message = problem ?? "can't be written: its directory does not exist"
  return new GdnError('file_error', message, { place, hint, details: { system: messageOf(error) } })
}
