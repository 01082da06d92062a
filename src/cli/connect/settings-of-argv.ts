import { type IoSettings, isSet } from '../io/io.ts'

/**
 * Reads the output settings from the raw arguments, because errors in the arguments are reported with these settings.
 * Arguments after `--` belong to another command.
 */
export function parseIoSettings(argv: readonly string[], env: NodeJS.ProcessEnv): IoSettings {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  const has = (...names: string[]) => words.some((word) => names.includes(word))
  const modes = words.flatMap((word, i) => {
    if (word === '-o' || word === '--output') return [words[i + 1] ?? '']
    return /^(?:--output=|-o=?)(.+)$/.exec(word)?.slice(1) ?? []
  })
  return {
    machine: has('--json') || modes.some((mode) => mode === 'json' || mode === 'ndjson'),
    quiet: has('--quiet') || words.some((word) => /^-[a-z]*q[a-z]*$/.test(word) && !/^-[cbfo]/.test(word)),
    debug: has('--debug') || isSet(env.GDN_DEBUG),
    input: !has('--no-input'),
    noColor: has('--no-color'),
  }
}
