import { shellWord } from '../../../core/shell-word.ts'
import { safe } from '../../io/io.ts'

/** Formats commands that work on a run, ready to type. */
export type RunCommands = (verb: 'results' | 'resume' | 'retry' | 'reconcile', more?: string) => string

/** @param stateDir the state directory, if a flag named one: the next command needs it again */
export function runCommands(run: string, stateDir: string | undefined): RunCommands {
  const where = stateDir === undefined ? '' : ` --state-dir ${shellWord(safe(stateDir))}`
  return (verb, more) => `gdn batch ${verb} ${shellWord(safe(run))}${more === undefined ? '' : ` ${more}`}${where}`
}
