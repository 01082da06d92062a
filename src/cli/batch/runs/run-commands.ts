import { shellWord } from '../../../core/shell-word.ts'
import { safe } from '../../io/io.ts'

/** Returns a `gdn batch` command for a run, for the user to paste. */
export type RunCommands = (verb: 'results' | 'resume' | 'retry' | 'reconcile', more?: string) => string

/** Commands to suggest instead of the `gdn batch` commands for a run. */
export interface SameCommand {
  resume?: string | undefined
  retry?: string | undefined
}

/**
 * Returns a function that formats commands for a run.
 *
 * @param stateDir the state directory, if a flag set it, because the next command needs the same flag
 */
export function runCommands(run: string, stateDir: string | undefined, same: SameCommand = {}): RunCommands {
  const where = stateDir === undefined ? '' : ` --state-dir ${shellWord(safe(stateDir))}`
  return (verb, more) => {
    const sameCommand = verb === 'resume' || verb === 'retry' ? same[verb] : undefined
    if (sameCommand !== undefined && more === undefined) return sameCommand
    return `gdn batch ${verb} ${shellWord(safe(run))}${more === undefined ? '' : ` ${more}`}${where}`
  }
}
