import { safe } from '../../io.ts'

/** The commands that go on with a run, as a person types them. */
export type RunCommands = (verb: 'results' | 'resume' | 'retry' | 'reconcile', more?: string) => string

/** @param stateDir where the journals are, if a flag said so: the next command needs it again */
export function runCommands(run: string, stateDir: string | undefined): RunCommands {
  const where = stateDir === undefined ? '' : ` --state-dir ${quote(safe(stateDir))}`
  return (verb, more) => `gdn batch ${verb} ${quote(safe(run))}${more === undefined ? '' : ` ${more}`}${where}`
}

/** A word as a shell takes it. */
export const quote = (word: string) => (/^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)
