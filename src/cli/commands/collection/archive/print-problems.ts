import type { ArchiveProblem } from '../../../../archive/index-lines.ts'
import { type Io, safe } from '../../../io/io.ts'

/** Maximum number of printed problems. */
export const SHOWN_PROBLEMS = 20

/**
 * Prints the problems of an archive.
 *
 * @param all the total number of problems, of which `problems` contains the first
 */
export function printProblems(io: Io, problems: readonly ArchiveProblem[], all: number): void {
  for (const { token_id, field, url, error } of problems.slice(0, SHOWN_PROBLEMS)) {
    const place = [token_id === null ? 'collection' : `token ${token_id}`, field, url]
      .filter((part) => part !== null)
      .join(', ')
    io.warn(safe(`${place}: ${error}`))
  }
  const more = all - SHOWN_PROBLEMS
  if (more > 0) io.warn(`${more} more files can't be read.`)
}
