import { shellWord } from '../../core/shell-word.ts'
import { safe } from '../io/io.ts'

/** Formats commands that work on a run, ready to type. */
export type RunCommands = (verb: 'results' | 'resume' | 'retry' | 'reconcile', more?: string) => string

/** Commands that replace the `gdn batch` commands that work on a run. */
export interface SameCommand {
  resume?: string | undefined
  retry?: string | undefined
}

/** @param stateDir the state directory, if a flag named one: the next command needs it again */
export function runCommands(run: string, stateDir: string | undefined, same: SameCommand = {}): RunCommands {
  const where = stateDir === undefined ? '' : ` --state-dir ${shellWord(safe(stateDir))}`
  return (verb, more) => {
    const again = verb === 'resume' || verb === 'retry' ? same[verb] : undefined
    if (again !== undefined && more === undefined) return again
    return `gdn batch ${verb} ${shellWord(safe(run))}${more === undefined ? '' : ` ${more}`}${where}`
  }
}
