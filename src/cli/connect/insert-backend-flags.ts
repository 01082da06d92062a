import { containsPassword } from '../../config/database-url.ts'
import type { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { DataDirFlags } from './data-dir.ts'

type PlaceFlags = { [Flag in keyof DataDirFlags | 'config']?: string | undefined }

/** Matches commands that act on a backend's files. They accept the flags that select these files. */
const BACKEND_COMMAND_PATTERN = /`gdn (chain|tx|key|webhook|db) [^`]+`/g

/**
 * Returns the flags that select a backend, in the form of a command's arguments. Omits a URL that contains a password.
 */
export function formatBackendFlags({ dataDir, databaseUrl, config }: PlaceFlags): string {
  const flags = [
    ['--data-dir', dataDir],
    ['--database-url', databaseUrl === undefined || containsPassword(databaseUrl) ? undefined : databaseUrl],
    ['--config', config],
  ]
  return flags.flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${shellWord(value)}`])).join('')
}

/** Inserts flags into the commands in a text, so that they use the same backend as the current command. */
export function insertBackendFlags(text: string, flags: PlaceFlags): string {
  return text.replace(BACKEND_COMMAND_PATTERN, (command, noun) => {
    if (/ --(data-dir|database-url|config|help)\b/.test(command)) return command
    const place = formatBackendFlags(noun === 'chain' ? flags : { ...flags, config: undefined })
    return `${command.slice(0, -1)}${place}\``
  })
}

/** Returns an error whose message and hint include the flags that select the backend. */
export function insertBackendFlagsIntoError(error: GdnError, flags: PlaceFlags): GdnError {
  const message = insertBackendFlags(error.message, flags)
  const hint = error.hint === undefined ? undefined : insertBackendFlags(error.hint, flags)
  return message === error.message && hint === error.hint ? error : error.with({ message, hint })
}
