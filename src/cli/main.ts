import { cacheCompiledCode } from './compile-cache.ts'
import { print } from './io/watch-streams.ts'
import { VERSION } from './version.ts'

/** Hidden flag that starts gdn as a detached process that checks for updates. */
const UPDATE_CHECK_FLAG = '--check-for-update'

/** Hidden command that starts gdn as a detached process that removes a temporary folder. */
const GUARD_COMMAND = '__guard-folder'

const VERSION_WORDS = new Set(['--version', '-V', 'version'])
const HELP_WORDS = new Set(['--help', '-h', 'help'])
const NO_COLOR_FLAG = '--no-color'

/**
 * Runs the command line. Handles `--version` and `--help` without loading the rest of gdn.
 *
 * @param argv arguments after the program's name
 * @returns the exit code
 */
export async function main(argv: string[]): Promise<number> {
  if (argv.length === 1 && VERSION_WORDS.has(argv[0] ?? '')) {
    return await print(`${VERSION}\n`, argv)
  }
  if (argv.length === 1 && argv[0] === UPDATE_CHECK_FLAG) {
    const { checkForUpdate } = await import('./update/check.ts')
    await checkForUpdate(process.env)
    return 0
  }
  if (argv.length === 2 && argv[0] === GUARD_COMMAND) {
    const { guardDirectory } = await import('../core/temporary-folder.ts')
    guardDirectory(argv[1] ?? '', process)
    return 0
  }
  if (argv[0] === '__complete') {
    const { completeValues } = await import('./completion/known-values.ts')
    return await print(await completeValues(argv.slice(1), process.env), argv)
  }
  cacheCompiledCode(process.env)
  const words = argv.filter((word) => word !== NO_COLOR_FLAG)
  if (words.length === 0 || (words.length === 1 && HELP_WORDS.has(words[0] ?? ''))) {
    const { rootHelpText } = await import('./help/root-help.ts')
    return await print(await rootHelpText(words.length < argv.length), argv)
  }
  const { runFromProcess } = await import('./process.ts')
  return await runFromProcess(argv)
}
