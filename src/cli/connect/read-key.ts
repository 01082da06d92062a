import { readText } from '../../config/read-text.ts'
import { GdnError } from '../../core/errors.ts'
import { refuseLooseFile } from '../../core/private-file.ts'
import { Secret } from '../../core/secret.ts'
import type { Io } from '../io/io.ts'
import { readInput } from '../io/request-file.ts'
import { askSecret } from '../prompt/ask-missing.ts'

const MAX_FILE_BYTES = 64 * 1024

/**
 * Reads an API key from a file, standard input (`-` or a pipe) or a hidden prompt. The key can't be an argument,
 * because the process list and the shell history would expose it.
 */
export async function readApiKey(io: Io, file: string | undefined, question: string): Promise<Secret> {
  if (file !== undefined && file !== '-') {
    await refuseLooseFile(file)
    return parseKey(await readText(file, MAX_FILE_BYTES, 'invalid_input'), file)
  }
  if (file === '-' || io.stdin.isTTY !== true) return parseKey(await readInput(io, '-'), 'stdin')
  const key = await askSecret(io, {
    message: question,
    flag: '--key-file',
    check: (text) => (isKey(text.trim()) ? true : 'the key must be one line of printable characters without spaces'),
  })
  return new Secret(key.trim())
}

/** Returns the key in a file, which must contain only one line. */
export function parseKey(text: string, file: string): Secret {
  const key = text.replace(/\r?\n$/, '')
  if (isKey(key)) return new Secret(key)
  throw new GdnError(
    'invalid_input',
    key === ''
      ? 'is empty: an API key is expected'
      : 'this is not an API key: one line of printable characters is expected',
    { place: { file }, hint: 'Use --key-file <file>, a pipe or a terminal.' },
  )
}

const isKey = (text: string) => /^[\x21-\x7e]{1,4096}$/.test(text)
