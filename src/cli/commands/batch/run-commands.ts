import { shellWord } from '../../../core/shell-word.ts'
import { safe } from '../../io/io.ts'

/** Formats commands that work on a run, ready to type. */
export type RunCommands = (verb: 'results' | 'resume' | 'retry' | 'reconcile', more?: string) => string

/**
 * @param stateDir the state directory, if a flag named one: the next command needs it again
 * @param again the command that resumes the run and retries its rows, in place of those of `gdn batch`
 */
export function runCommands(run: string, stateDir: string | undefined, again?: string): RunCommands {
  const where = stateDir === undefined ? '' : ` --state-dir ${shellWord(safe(stateDir))}`
  return (verb, more) => {
    if (again !== undefined && (verb === 'resume' || verb === 'retry') && more === undefined) return again + where
    return `gdn batch ${verb} ${shellWord(safe(run))}${more === undefined ? '' : ` ${more}`}${where}`
  }
}
